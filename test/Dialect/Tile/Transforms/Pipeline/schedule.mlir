// RUN: fa3-opt %s -tile-schedule | FileCheck %s
// RUN: fa3-opt %s -tile-schedule=stages=1 | FileCheck %s --check-prefix=ONE
// RUN: fa3-opt %s -tile-schedule=stages=2 | FileCheck %s --check-prefix=TWO
// RUN: %stages-chain --pass tile-schedule

!K = tensor<32x16xf16>
!V = tensor<32x64xf16>
!B = tensor<64x32xf16>
gpu.module @m {
  // A chain of two products. The second consumes what the first of the same
  // iteration gave, so it comes one stage later: in a step, the first product
  // of iteration t + 1 and the second of iteration t are issued, then the
  // first is awaited and converted; the slot of the second is released last.
  // CHECK-LABEL: gpu.func @chain
  // The loads follow their readers: K a stage before V.
  // CHECK: warp.group @load
  // CHECK: warp.acquire %[[RK:.*]][{{.*}}stage = 0, order = 0
  // CHECK: tile.load.async %arg0{{.*}}stage = 0
  // CHECK: warp.publish {{.*}}stage = 0
  // CHECK: warp.acquire %[[RV:.*]][{{.*}}stage = 1
  // CHECK: tile.load.async %arg1{{.*}}stage = 1
  // CHECK: warp.publish {{.*}}stage = 1
  // CHECK: warp.group @math
  // CHECK: warp.acquire %[[RK]]{{.*}}<stage = 0, order = 0>
  // CHECK: tile.view {{.*}}<stage = 0, order = 1>
  // CHECK: warp.acquire %[[RV]]{{.*}}<stage = 1, order = 3>
  // CHECK: tile.view {{.*}}<stage = 1, order = 4>
  // CHECK: tile.dot.async {{.*}}<stage = 0, order = 2>
  // CHECK: tile.await {{.*}}<stage = 0, order = 6>
  // CHECK: warp.release {{.*}}<stage = 0, order = 7>
  // CHECK: arith.truncf {{.*}}<stage = 0, order = 8>
  // CHECK: tile.dot.async {{.*}}<stage = 1, order = 5>
  // CHECK: warp.release {{.*}}<stage = 1, order = 9>

  // With one stage the order of the program is the only one possible.
  // ONE-LABEL: gpu.func @chain
  // ONE-NOT: stage = 1
  // ONE: tile.dot.async {{.*}}<stage = 0, order = [[FIRST:[0-9]+]]>
  // ONE: tile.dot.async {{.*}}<stage = 0
  // ONE-LABEL: gpu.func @gemm
  gpu.func @chain(%k: memref<?x?xf16>, %v: memref<?x?xf16>, %o: memref<?x?xf32>, %n: index) kernel {
    %rk = warp.ring : !warp.ring<1, [!K]>
    %rv = warp.ring : !warp.ring<1, [!V]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %wk = warp.cursor write %rk : !warp.ring<1, [!K]>
        %wv = warp.cursor write %rv : !warp.ring<1, [!V]>
        scf.for %t = %c0 to %n step %c1 iter_args(%ck = %wk, %cv = %wv) -> (!warp.cursor<write>, !warp.cursor<write>) {
          %s, %nk = warp.acquire %rk[%ck] : !warp.ring<1, [!K]>, !warp.cursor<write>
          %x = tile.view %s[%c0, %c0] : !warp.slot<write, [!K]> -> !tile.view<!K>
          tile.load.async %k[%t, %c0], %x : memref<?x?xf16>, !tile.view<!K>
          warp.publish %s : !warp.slot<write, [!K]>
          %s2, %nv = warp.acquire %rv[%cv] : !warp.ring<1, [!V]>, !warp.cursor<write>
          %y = tile.view %s2[%c0, %c0] : !warp.slot<write, [!V]> -> !tile.view<!V>
          tile.load.async %v[%t, %c0], %y : memref<?x?xf16>, !tile.view<!V>
          warp.publish %s2 : !warp.slot<write, [!V]>
          scf.yield %nk, %nv : !warp.cursor<write>, !warp.cursor<write>
        }
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : tensor<64x32xf32>
        %none = arith.constant dense<0.0> : tensor<64x64xf32>
        %q = tile.load %k[%c0, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
        %init = tile.pend %none : tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
        %ik = warp.cursor read %rk : !warp.ring<1, [!K]>
        %iv = warp.cursor read %rv : !warp.ring<1, [!V]>
        %r:3 = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %init, %ck = %ik, %cv = %iv)
            -> (!tile.pending<tensor<64x64xf32>>, !warp.cursor<read>, !warp.cursor<read>) {
          %s, %nk = warp.acquire %rk[%ck] : !warp.ring<1, [!K]>, !warp.cursor<read>
          %x = tile.view %s[%c0, %c0] : !warp.slot<read, [!K]> -> !tile.view<!K>
          %s2, %nv = warp.acquire %rv[%cv] : !warp.ring<1, [!V]>, !warp.cursor<read>
          %y = tile.view %s2[%c0, %c0] : !warp.slot<read, [!V]> -> !tile.view<!V>
          %d, %done = tile.dot.async %q, %x, %zero lhs mk rhs nk : tensor<64x16xf16>, !tile.view<!K>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %e = tile.await %d : !tile.pending<tensor<64x32xf32>>
          warp.release %s after %done : !warp.slot<read, [!K]>
          %p = arith.truncf %e : tensor<64x32xf32> to tensor<64x32xf16>
          %f, %done2 = tile.dot.async %p, %y, %acc lhs mk rhs kn : tensor<64x32xf16>, !tile.view<!V>, !tile.pending<tensor<64x64xf32>> -> !tile.pending<tensor<64x64xf32>>
          warp.release %s2 after %done2 : !warp.slot<read, [!V]>
          scf.yield %f, %nk, %nv : !tile.pending<tensor<64x64xf32>>, !warp.cursor<read>, !warp.cursor<read>
        }
        %out = tile.await %r#0 : !tile.pending<tensor<64x64xf32>>
        tile.store %out, %o[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }

  // The results of two products that do not need each other meet: with two
  // stages those of the next step would be in registers, too, so that there is
  // one unless more are asked for.
  // CHECK-LABEL: gpu.func @meeting
  // CHECK: warp.group @math
  // CHECK-NOT: stage = 1
  // CHECK: gpu.return
  // TWO-LABEL: gpu.func @meeting
  // TWO: warp.group @math
  // TWO: tile.dot.async {{.*}}stage = 0
  // TWO: tile.dot.async {{.*}}stage = 1
  gpu.func @meeting(%k: memref<?x?xf16>, %o: memref<?x?xf32>, %n: index) kernel {
    %rk = warp.ring : !warp.ring<1, [!K]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %wk = warp.cursor write %rk : !warp.ring<1, [!K]>
        scf.for %t = %c0 to %n step %c1 iter_args(%ck = %wk) -> (!warp.cursor<write>) {
          %s, %nk = warp.acquire %rk[%ck] : !warp.ring<1, [!K]>, !warp.cursor<write>
          %x = tile.view %s[%c0, %c0] : !warp.slot<write, [!K]> -> !tile.view<!K>
          tile.load.async %k[%t, %c0], %x : memref<?x?xf16>, !tile.view<!K>
          warp.publish %s : !warp.slot<write, [!K]>
          scf.yield %nk : !warp.cursor<write>
        }
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : tensor<64x32xf32>
        %none = arith.constant dense<0.0> : tensor<64x16xf32>
        %q = tile.load %k[%c0, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
        %p = tile.load %k[%c1, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
        %init = tile.pend %none : tensor<64x16xf32> -> !tile.pending<tensor<64x16xf32>>
        %ik = warp.cursor read %rk : !warp.ring<1, [!K]>
        %r:2 = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %init, %ck = %ik)
            -> (!tile.pending<tensor<64x16xf32>>, !warp.cursor<read>) {
          %s, %nk = warp.acquire %rk[%ck] : !warp.ring<1, [!K]>, !warp.cursor<read>
          %x = tile.view %s[%c0, %c0] : !warp.slot<read, [!K]> -> !tile.view<!K>
          %d, %done = tile.dot.async %q, %x, %zero lhs mk rhs nk : tensor<64x16xf16>, !tile.view<!K>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %e, %done1 = tile.dot.async %p, %x, %zero lhs mk rhs nk : tensor<64x16xf16>, !tile.view<!K>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %a = tile.await %d : !tile.pending<tensor<64x32xf32>>
          %b = tile.await %e : !tile.pending<tensor<64x32xf32>>
          %m = arith.mulf %a, %b : tensor<64x32xf32>
          %w = arith.truncf %m : tensor<64x32xf32> to tensor<64x32xf16>
          %f, %done2 = tile.dot.async %w, %x, %acc lhs mk rhs kn : tensor<64x32xf16>, !tile.view<!K>, !tile.pending<tensor<64x16xf32>> -> !tile.pending<tensor<64x16xf32>>
          warp.release %s after %done, %done1, %done2 : !warp.slot<read, [!K]>
          scf.yield %f, %nk : !tile.pending<tensor<64x16xf32>>, !warp.cursor<read>
        }
        %out = tile.await %r#0 : !tile.pending<tensor<64x16xf32>>
        tile.store %out, %o[%c0, %c0] : tensor<64x16xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }

  // One product: the slot it reads is released a stage later, when the next
  // product has been issued, so that the tensor core never runs dry.
  // CHECK-LABEL: gpu.func @gemm
  // CHECK: warp.acquire {{.*}}<stage = 0, order = 0>
  // CHECK: tile.view {{.*}}<stage = 0, order = 1>
  // CHECK: tile.dot.async {{.*}}<stage = 0, order = 2>
  // CHECK: warp.release {{.*}}<stage = 1, order = 3>
  gpu.func @gemm(%a: memref<?x?xf16>, %o: memref<?x?xf32>, %n: index) kernel {
    %rk = warp.ring : !warp.ring<1, [!K]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %none = arith.constant dense<0.0> : tensor<64x32xf32>
        %q = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
        %init = tile.pend %none : tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
        %ik = warp.cursor read %rk : !warp.ring<1, [!K]>
        %r:2 = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %init, %ck = %ik)
            -> (!tile.pending<tensor<64x32xf32>>, !warp.cursor<read>) {
          %s, %nk = warp.acquire %rk[%ck] : !warp.ring<1, [!K]>, !warp.cursor<read>
          %x = tile.view %s[%c0, %c0] : !warp.slot<read, [!K]> -> !tile.view<!K>
          %d, %done = tile.dot.async %q, %x, %acc lhs mk rhs nk : tensor<64x16xf16>, !tile.view<!K>, !tile.pending<tensor<64x32xf32>> -> !tile.pending<tensor<64x32xf32>>
          warp.release %s after %done : !warp.slot<read, [!K]>
          scf.yield %d, %nk : !tile.pending<tensor<64x32xf32>>, !warp.cursor<read>
        }
        %out = tile.await %r#0 : !tile.pending<tensor<64x32xf32>>
        tile.store %out, %o[%c0, %c0] : tensor<64x32xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }

  // Two products of one sum stay together: in one stage, one behind the other,
  // and the slot that both read is released behind their one await.
  // CHECK-LABEL: gpu.func @sum
  // CHECK: tile.dot.async {{.*}}<stage = 0, order = [[#FIRST:]]>
  // CHECK: tile.dot.async {{.*}}<stage = 0, order = [[#FIRST+1]]>
  // CHECK: tile.await {{.*}}<stage = 0, order = [[#SUM:]]>
  // CHECK: warp.release {{.*}}<stage = 0, order = [[#SUM+1]]>
  // CHECK: tile.dot.async {{.*}}<stage = 1,
  // CHECK: warp.release {{.*}}<stage = 1,
  gpu.func @sum(%k: memref<?x?xf16>, %o: memref<?x?xf32>, %n: index) kernel {
    %rk = warp.ring : !warp.ring<1, [!K]>
    %rv = warp.ring : !warp.ring<1, [!V]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : tensor<64x32xf32>
        %none = arith.constant dense<0.0> : tensor<64x64xf32>
        %q = tile.load %k[%c0, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
        %p = tile.load %k[%c1, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
        %init = tile.pend %none : tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
        %ik = warp.cursor read %rk : !warp.ring<1, [!K]>
        %iv = warp.cursor read %rv : !warp.ring<1, [!V]>
        %r:3 = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %init, %ck = %ik, %cv = %iv)
            -> (!tile.pending<tensor<64x64xf32>>, !warp.cursor<read>, !warp.cursor<read>) {
          %s, %nk = warp.acquire %rk[%ck] : !warp.ring<1, [!K]>, !warp.cursor<read>
          %x = tile.view %s[%c0, %c0] : !warp.slot<read, [!K]> -> !tile.view<!K>
          %s2, %nv = warp.acquire %rv[%cv] : !warp.ring<1, [!V]>, !warp.cursor<read>
          %y = tile.view %s2[%c0, %c0] : !warp.slot<read, [!V]> -> !tile.view<!V>
          %d, %done = tile.dot.async %q, %x, %zero lhs mk rhs nk : tensor<64x16xf16>, !tile.view<!K>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %d2, %done2 = tile.dot.async %p, %x, %d lhs mk rhs nk : tensor<64x16xf16>, !tile.view<!K>, !tile.pending<tensor<64x32xf32>> -> !tile.pending<tensor<64x32xf32>>
          %e = tile.await %d2 : !tile.pending<tensor<64x32xf32>>
          warp.release %s after %done, %done2 : !warp.slot<read, [!K]>
          %w = arith.truncf %e : tensor<64x32xf32> to tensor<64x32xf16>
          %f, %done3 = tile.dot.async %w, %y, %acc lhs mk rhs kn : tensor<64x32xf16>, !tile.view<!V>, !tile.pending<tensor<64x64xf32>> -> !tile.pending<tensor<64x64xf32>>
          warp.release %s2 after %done3 : !warp.slot<read, [!V]>
          scf.yield %f, %nk, %nv : !tile.pending<tensor<64x64xf32>>, !warp.cursor<read>, !warp.cursor<read>
        }
        %out = tile.await %r#0 : !tile.pending<tensor<64x64xf32>>
        tile.store %out, %o[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }

  // A tile for element code is read when what it is added to is there, and its
  // slot released then. Copies come in the order in which readers ask: the
  // second product's operand, a stage later, before that tile.
  // CHECK-LABEL: gpu.func @elements
  // CHECK: warp.group @load
  // CHECK: tile.load.async %arg0{{.*}}<stage = 0, order = 2>
  // CHECK: tile.load.async %arg1{{.*}}<stage = 1, order = 6>
  // CHECK: tile.load.async %arg2{{.*}}<stage = 0, order = 10>
  // CHECK: warp.group @math
  // CHECK: tile.await {{.*}}<stage = 0, order = [[#AWAIT:]]>
  // CHECK: tile.read {{.*}}<stage = 0, order = [[#AWAIT+4]]>
  // CHECK: arith.extf {{.*}}<stage = 0, order = [[#AWAIT+5]]>
  // CHECK: arith.addf {{.*}}<stage = 0, order = [[#AWAIT+6]]>
  // CHECK: warp.release {{.*}}<stage = 0, order = [[#AWAIT+7]]>
  gpu.func @elements(%k: memref<?x?xf16>, %v: memref<?x?xf16>, %b: memref<?x?xf16>, %o: memref<?x?xf32>, %n: index) kernel {
    %rk = warp.ring : !warp.ring<1, [!K]>
    %rv = warp.ring : !warp.ring<1, [!V]>
    %rb = warp.ring : !warp.ring<1, [!B]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %wk = warp.cursor write %rk : !warp.ring<1, [!K]>
        %wv = warp.cursor write %rv : !warp.ring<1, [!V]>
        %wb = warp.cursor write %rb : !warp.ring<1, [!B]>
        scf.for %t = %c0 to %n step %c1 iter_args(%ck = %wk, %cv = %wv, %cb = %wb) -> (!warp.cursor<write>, !warp.cursor<write>, !warp.cursor<write>) {
          %s, %nk = warp.acquire %rk[%ck] : !warp.ring<1, [!K]>, !warp.cursor<write>
          %x = tile.view %s[%c0, %c0] : !warp.slot<write, [!K]> -> !tile.view<!K>
          tile.load.async %k[%t, %c0], %x : memref<?x?xf16>, !tile.view<!K>
          warp.publish %s : !warp.slot<write, [!K]>
          %s2, %nv = warp.acquire %rv[%cv] : !warp.ring<1, [!V]>, !warp.cursor<write>
          %y = tile.view %s2[%c0, %c0] : !warp.slot<write, [!V]> -> !tile.view<!V>
          tile.load.async %v[%t, %c0], %y : memref<?x?xf16>, !tile.view<!V>
          warp.publish %s2 : !warp.slot<write, [!V]>
          %s3, %nb = warp.acquire %rb[%cb] : !warp.ring<1, [!B]>, !warp.cursor<write>
          %z = tile.view %s3[%c0, %c0] : !warp.slot<write, [!B]> -> !tile.view<!B>
          tile.load.async %b[%t, %c0], %z : memref<?x?xf16>, !tile.view<!B>
          warp.publish %s3 : !warp.slot<write, [!B]>
          scf.yield %nk, %nv, %nb : !warp.cursor<write>, !warp.cursor<write>, !warp.cursor<write>
        }
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : tensor<64x32xf32>
        %none = arith.constant dense<0.0> : tensor<64x64xf32>
        %q = tile.load %k[%c0, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
        %init = tile.pend %none : tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
        %ik = warp.cursor read %rk : !warp.ring<1, [!K]>
        %iv = warp.cursor read %rv : !warp.ring<1, [!V]>
        %ib = warp.cursor read %rb : !warp.ring<1, [!B]>
        %r:4 = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %init, %ck = %ik, %cv = %iv, %cb = %ib)
            -> (!tile.pending<tensor<64x64xf32>>, !warp.cursor<read>, !warp.cursor<read>, !warp.cursor<read>) {
          %s, %nk = warp.acquire %rk[%ck] : !warp.ring<1, [!K]>, !warp.cursor<read>
          %x = tile.view %s[%c0, %c0] : !warp.slot<read, [!K]> -> !tile.view<!K>
          %s2, %nv = warp.acquire %rv[%cv] : !warp.ring<1, [!V]>, !warp.cursor<read>
          %y = tile.view %s2[%c0, %c0] : !warp.slot<read, [!V]> -> !tile.view<!V>
          %d, %done = tile.dot.async %q, %x, %zero lhs mk rhs nk : tensor<64x16xf16>, !tile.view<!K>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %e = tile.await %d : !tile.pending<tensor<64x32xf32>>
          warp.release %s after %done : !warp.slot<read, [!K]>
          %s3, %nb = warp.acquire %rb[%cb] : !warp.ring<1, [!B]>, !warp.cursor<read>
          %z = tile.view %s3[%c0, %c0] : !warp.slot<read, [!B]> -> !tile.view<!B>
          %bias = tile.read %z : !tile.view<!B> -> tensor<64x32xf16>
          %wide = arith.extf %bias : tensor<64x32xf16> to tensor<64x32xf32>
          %sum = arith.addf %e, %wide : tensor<64x32xf32>
          warp.release %s3 : !warp.slot<read, [!B]>
          %p = arith.truncf %sum : tensor<64x32xf32> to tensor<64x32xf16>
          %f, %done2 = tile.dot.async %p, %y, %acc lhs mk rhs kn : tensor<64x32xf16>, !tile.view<!V>, !tile.pending<tensor<64x64xf32>> -> !tile.pending<tensor<64x64xf32>>
          warp.release %s2 after %done2 : !warp.slot<read, [!V]>
          scf.yield %f, %nk, %nv, %nb : !tile.pending<tensor<64x64xf32>>, !warp.cursor<read>, !warp.cursor<read>, !warp.cursor<read>
        }
        %out = tile.await %r#0 : !tile.pending<tensor<64x64xf32>>
        tile.store %out, %o[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }

  // Loops without a product or a load keep their form, and so does an outer one.
  // CHECK-LABEL: gpu.func @others
  // CHECK-NOT: tile.slotting
  // CHECK: gpu.return
  gpu.func @others(%o: memref<?xf32>, %n: index) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant 0.0 : f32
        scf.for %t = %c0 to %n step %c1 {
          scf.for %u = %c0 to %n step %c1 {
            memref.store %zero, %o[%u] : memref<?xf32>
          }
        }
      }
    }
    gpu.return
  }
}
