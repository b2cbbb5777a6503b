// RUN: fa3-opt %s -tile-pipeline | FileCheck %s
// RUN: %stages-chain --pass tile-pipeline --run=--completion=random --run=--schedule-seed=7
// RUN: %stages-window --pass tile-pipeline --options 'block-m=64 block-n=32'
// RUN: %stages-gemm --pass tile-pipeline

!K = tensor<32x16xf16>
#s0o0 = #tile.slotting<stage = 0, order = 0>
#s0o1 = #tile.slotting<stage = 0, order = 1>
#s0o2 = #tile.slotting<stage = 0, order = 2>
#s1o3 = #tile.slotting<stage = 1, order = 3>
gpu.module @m {
  // Two stages: a prologue issues the first product, the steady loop issues the
  // next before it releases the last, the epilogue releases the last slot. An
  // entry is held while the next is acquired: two entries.
  // CHECK-LABEL: gpu.func @gemm
  // CHECK: %[[R:.*]] = warp.ring : <2, [tensor<32x16xf16>]>
  // CHECK: %[[SOME:.*]] = arith.cmpi slt, %c0{{.*}}, %arg2
  // CHECK: scf.if %[[SOME]]
  // CHECK: %[[S0:.*]], %{{.*}} = warp.acquire %[[R]]
  // CHECK: %[[D0:.*]], %[[DONE0:.*]] = tile.dot.async
  // CHECK-NOT: warp.release
  // CHECK: %[[LOOP:.*]]:4 = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[D0]], %{{.*}} = %{{.*}}, %[[S:.*]] = %[[S0]], %[[DONE:.*]] = %[[DONE0]])
  // CHECK: %[[S1:.*]], %{{.*}} = warp.acquire %[[R]]
  // CHECK: %[[D1:.*]], %[[DONE1:.*]] = tile.dot.async %{{.*}}, %{{.*}}, %[[ACC]]
  // CHECK: warp.release %[[S]] after %[[DONE]]
  // CHECK: scf.yield %[[D1]], %{{.*}}, %[[S1]], %[[DONE1]]
  // CHECK: }
  // CHECK: warp.release %[[LOOP]]#2 after %[[LOOP]]#3
  // CHECK: } else {
  // CHECK-NEXT: scf.yield
  // CHECK-NOT: tile.slotting
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
          %s, %nk = warp.acquire %rk[%ck] {tile.slotting = #s0o0} : !warp.ring<1, [!K]>, !warp.cursor<read>
          %x = tile.view %s[%c0, %c0] {tile.slotting = #s0o1} : !warp.slot<read, [!K]> -> !tile.view<!K>
          %d, %done = tile.dot.async %q, %x, %acc lhs mk rhs nk {tile.slotting = #s0o2} : tensor<64x16xf16>, !tile.view<!K>, !tile.pending<tensor<64x32xf32>> -> !tile.pending<tensor<64x32xf32>>
          warp.release %s after %done {tile.slotting = #s1o3} : !warp.slot<read, [!K]>
          scf.yield %d, %nk : !tile.pending<tensor<64x32xf32>>, !warp.cursor<read>
        }
        %out = tile.await %r#0 : !tile.pending<tensor<64x32xf32>>
        tile.store %out, %o[%c0, %c0] : tensor<64x32xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }

  // One stage: only the order changes.
  // CHECK-LABEL: gpu.func @reorder
  // CHECK-NOT: scf.if
  // CHECK: scf.for
  // CHECK: memref.store %{{.*}}, %arg1
  // CHECK: memref.store %{{.*}}, %arg0
  // CHECK-NOT: tile.slotting
  gpu.func @reorder(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    scf.for %t = %c0 to %n step %c1 {
      memref.store %zero, %a[%t] {tile.slotting = #s0o1} : memref<?xf32>
      memref.store %zero, %b[%t] {tile.slotting = #s0o0} : memref<?xf32>
    }
    gpu.return
  }

  // Three stages need two iterations; with fewer the loop runs as it was.
  // CHECK-LABEL: gpu.func @three
  // CHECK: %[[ONE:.*]] = arith.constant 1 : index
  // CHECK: %[[SKIP:.*]] = arith.muli
  // CHECK: %[[LEAST:.*]] = arith.addi %{{.*}}, %[[SKIP]]
  // CHECK: %[[ENOUGH:.*]] = arith.cmpi slt, %[[LEAST]], %arg2
  // CHECK: scf.if %[[ENOUGH]] {
  // CHECK: scf.for
  // CHECK: } else {
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: memref.load %arg0
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: memref.store {{.*}}, %arg1
  gpu.func @three(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %t = %c0 to %n step %c1 {
      %x = memref.load %a[%t] {tile.slotting = #tile.slotting<stage = 0, order = 2>} : memref<?xf32>
      %y = arith.addf %x, %x {tile.slotting = #tile.slotting<stage = 1, order = 3>} : f32
      memref.store %y, %b[%t] {tile.slotting = #tile.slotting<stage = 2, order = 4>} : memref<?xf32>
    }
    gpu.return
  }

  // A left operand in registers: the next one is converted behind the await of
  // the product that reads the registers.
  // CHECK-LABEL: gpu.func @registers
  // CHECK: scf.if
  // CHECK: scf.for {{.*}} iter_args({{.*}}, %[[P:.*]] = %{{.*}})
  // CHECK: %[[N:.*]] = arith.addf
  // CHECK: %[[D:.*]], %{{.*}} = tile.dot.async %[[P]]
  // CHECK: %{{.*}}, %[[KEPT:.*]] = tile.await %[[D]] keep %[[N]]
  // CHECK: arith.truncf %[[KEPT]]
  gpu.func @registers(%p: memref<?x?xf32>, %o: memref<?x?xf32>, %n: index) kernel {
    %rk = warp.ring : !warp.ring<1, [!K]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %none = arith.constant dense<0.0> : tensor<64x16xf32>
        %x0 = tile.load %p[%c0, %c0] : memref<?x?xf32> -> tensor<64x32xf32>
        %ik = warp.cursor read %rk : !warp.ring<1, [!K]>
        %s, %nk = warp.acquire %rk[%ik] : !warp.ring<1, [!K]>, !warp.cursor<read>
        %y = tile.view %s[%c0, %c0] : !warp.slot<read, [!K]> -> !tile.view<!K>
        %r:2 = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %none, %x = %x0) -> (tensor<64x16xf32>, tensor<64x32xf32>) {
          %z = arith.addf %x, %x {tile.slotting = #tile.slotting<stage = 0, order = 0>} : tensor<64x32xf32>
          %h = arith.truncf %z {tile.slotting = #tile.slotting<stage = 0, order = 3>} : tensor<64x32xf32> to tensor<64x32xf16>
          %d, %done = tile.dot.async %h, %y, %acc lhs mk rhs kn {tile.slotting = #tile.slotting<stage = 1, order = 1>} : tensor<64x32xf16>, !tile.view<!K>, tensor<64x16xf32> -> !tile.pending<tensor<64x16xf32>>
          %e = tile.await %d {tile.slotting = #tile.slotting<stage = 1, order = 2>} : !tile.pending<tensor<64x16xf32>>
          scf.yield %e, %z : tensor<64x16xf32>, tensor<64x32xf32>
        }
        warp.release %s : !warp.slot<read, [!K]>
        tile.store %r#0, %o[%c0, %c0] : tensor<64x16xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }

  // Nothing in the loop looks at the sum: a wait for the product takes the place
  // of the await.
  // CHECK-LABEL: gpu.func @unawaited
  // CHECK: scf.if
  // CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %[[P:.*]] = %{{.*}})
  // CHECK: %[[N:.*]] = arith.addf
  // CHECK: %{{.*}}, %[[DONE:.*]] = tile.dot.async %[[P]], %{{.*}}, %[[ACC]]
  // CHECK: warp.wait %[[DONE]]
  // CHECK-NEXT: arith.truncf %[[N]]
  gpu.func @unawaited(%p: memref<?x?xf32>, %o: memref<?x?xf32>, %n: index) kernel {
    %rk = warp.ring : !warp.ring<1, [!K]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %none = arith.constant dense<0.0> : tensor<64x16xf32>
        %x0 = tile.load %p[%c0, %c0] : memref<?x?xf32> -> tensor<64x32xf32>
        %ik = warp.cursor read %rk : !warp.ring<1, [!K]>
        %s, %nk = warp.acquire %rk[%ik] : !warp.ring<1, [!K]>, !warp.cursor<read>
        %y = tile.view %s[%c0, %c0] : !warp.slot<read, [!K]> -> !tile.view<!K>
        %first = tile.pend %none : tensor<64x16xf32> -> !tile.pending<tensor<64x16xf32>>
        %r:2 = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %first, %x = %x0) -> (!tile.pending<tensor<64x16xf32>>, tensor<64x32xf32>) {
          %z = arith.addf %x, %x {tile.slotting = #tile.slotting<stage = 0, order = 0>} : tensor<64x32xf32>
          %h = arith.truncf %z {tile.slotting = #tile.slotting<stage = 0, order = 2>} : tensor<64x32xf32> to tensor<64x32xf16>
          %d, %done = tile.dot.async %h, %y, %acc lhs mk rhs kn {tile.slotting = #tile.slotting<stage = 1, order = 1>} : tensor<64x32xf16>, !tile.view<!K>, !tile.pending<tensor<64x16xf32>> -> !tile.pending<tensor<64x16xf32>>
          scf.yield %d, %z : !tile.pending<tensor<64x16xf32>>, tensor<64x32xf32>
        }
        %e = tile.await %r#0 : !tile.pending<tensor<64x16xf32>>
        warp.release %s : !warp.slot<read, [!K]>
        tile.store %e, %o[%c0, %c0] : tensor<64x16xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }

  // Products of two stages read one slot: the slot is carried, and borrowed anew
  // in front of each product.
  // CHECK-LABEL: gpu.func @two_stages_one_slot
  // CHECK: scf.if
  // CHECK: %[[S0:.*]], %{{.*}} = warp.acquire
  // CHECK: scf.for {{.*}} iter_args({{.*}} = %[[S0]]{{.*}}) -> ({{[^v]*}}!warp.slot<read, [tensor<32x16xf16>]>
  // CHECK: %[[S1:.*]], %{{.*}} = warp.acquire
  // CHECK: %[[V1:.*]] = tile.view %[[S1]]
  // CHECK: tile.dot.async %{{.*}}, %[[V1]], {{.*}} rhs nk
  // CHECK: %[[V0:.*]] = tile.view %[[S:[a-z0-9]*]]
  // CHECK-NEXT: %{{.*}}, %[[DONE:.*]] = tile.dot.async %{{.*}}, %[[V0]], {{.*}} rhs kn
  // CHECK: warp.release %[[S]] after %{{.*}}, %[[DONE]]
  // CHECK: }
  // CHECK: %[[LAST:.*]] = tile.view
  // CHECK-NEXT: tile.dot.async %{{.*}}, %[[LAST]], {{.*}} rhs kn
  // CHECK: warp.release
  gpu.func @two_stages_one_slot(%a: memref<?x?xf16>, %o: memref<?x?xf32>, %n: index) kernel {
    %rk = warp.ring : !warp.ring<1, [!K]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %none = arith.constant dense<0.0> : tensor<64x32xf32>
        %start = arith.constant dense<0.0> : tensor<64x16xf32>
        %q = tile.load %a[%c0, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
        %ik = warp.cursor read %rk : !warp.ring<1, [!K]>
        %r:2 = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %start, %ck = %ik)
            -> (tensor<64x16xf32>, !warp.cursor<read>) {
          %s, %nk = warp.acquire %rk[%ck] {tile.slotting = #tile.slotting<stage = 0, order = 0>} : !warp.ring<1, [!K]>, !warp.cursor<read>
          %x = tile.view %s[%c0, %c0] {tile.slotting = #tile.slotting<stage = 0, order = 1>} : !warp.slot<read, [!K]> -> !tile.view<!K>
          %d, %done = tile.dot.async %q, %x, %none lhs mk rhs nk {tile.slotting = #tile.slotting<stage = 0, order = 2>} : tensor<64x16xf16>, !tile.view<!K>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
          %e = tile.await %d {tile.slotting = #tile.slotting<stage = 0, order = 4>} : !tile.pending<tensor<64x32xf32>>
          %p = arith.truncf %e {tile.slotting = #tile.slotting<stage = 0, order = 6>} : tensor<64x32xf32> to tensor<64x32xf16>
          %f, %also = tile.dot.async %p, %x, %acc lhs mk rhs kn {tile.slotting = #tile.slotting<stage = 1, order = 3>} : tensor<64x32xf16>, !tile.view<!K>, tensor<64x16xf32> -> !tile.pending<tensor<64x16xf32>>
          %h = tile.await %f {tile.slotting = #tile.slotting<stage = 1, order = 5>} : !tile.pending<tensor<64x16xf32>>
          warp.release %s after %done, %also {tile.slotting = #tile.slotting<stage = 1, order = 7>} : !warp.slot<read, [!K]>
          scf.yield %h, %nk : tensor<64x16xf32>, !warp.cursor<read>
        }
        tile.store %r#0, %o[%c0, %c0] : tensor<64x16xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }
}
