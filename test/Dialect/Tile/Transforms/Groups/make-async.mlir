// RUN: fa3-opt %s -tile-make-async=store=direct -o %t.direct
// RUN: fa3-opt %s -tile-make-async=store=staged -o %t.staged
// RUN: FileCheck %s < %t.direct
// RUN: FileCheck %s --check-prefix=DIRECT < %t.direct
// RUN: FileCheck %s --check-prefix=STAGED < %t.staged
// With two entries of each ring (4096 bytes each) and the staging of 8192:
// RUN: fa3-opt %s -tile-make-async=smem-budget=16383 | FileCheck %s --check-prefix=DIRECT
// RUN: fa3-opt %s -tile-make-async=smem-budget=16384 | FileCheck %s --check-prefix=STAGED
// RUN: %stages-chain --pass tile-make-async
// RUN: %stages-window --pass tile-make-async --options 'block-m=128 block-n=64 store=direct' --run=--completion=random --run=--schedule-seed=1
// RUN: %stages-window --pass tile-make-async --run=--completion=eager

!A = tensor<64x32xf16>
!o = memref<?x?xf16, strided<[?, 1]>>
gpu.module @m {
  // A product that accumulates through a loop stays pending throughout; the
  // slot is given back when the product has read it.
  // CHECK-LABEL: gpu.func @accumulate
  // CHECK: %[[INIT:.*]] = tile.pend
  // CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[INIT]], {{.*}}) -> (!tile.pending<tensor<64x64xf32>>
  // CHECK: %[[S:.*]], %{{.*}} = warp.acquire
  // CHECK: %[[R:.*]], %[[DONE:.*]] = tile.dot.async %{{.*}}, %{{.*}}, %[[ACC]]
  // CHECK-NOT: tile.await
  // CHECK: warp.release %[[S]] after %[[DONE]] :
  // CHECK: scf.yield %[[R]]
  // CHECK: }
  // CHECK: tile.await

  // Stores: by the threads, or through a ring of the replica's own.
  // DIRECT-LABEL: gpu.func @accumulate
  // DIRECT-NOT: tile.store.async
  // DIRECT: tile.store %{{.*}}, %arg0
  // STAGED-LABEL: gpu.func @accumulate
  // STAGED: warp.group
  // STAGED: %[[OWN:.*]] = warp.ring : <1, [tensor<64x64xf16>]>
  // STAGED: %[[IN:.*]], %{{.*}} = warp.acquire %[[OWN]]
  // STAGED: tile.write %{{.*}}, %[[VIEW:.*]] :
  // STAGED: warp.publish %[[IN]]
  // STAGED: %[[OUT:.*]], %{{.*}} = warp.acquire %[[OWN]]
  // STAGED: %[[DONE:.*]] = tile.store.async %{{.*}}, %arg0
  // STAGED: warp.release %[[OUT]] after %[[DONE]]
  gpu.func @accumulate(%o: !o, %n: index) kernel {
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %q = warp.cursor read %r : !warp.ring<1, [!A]>
        %sum:2 = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %zero, %cq = %q) -> (tensor<64x64xf32>, !warp.cursor<read>) {
          %s, %next = warp.acquire %r[%cq] : !warp.ring<1, [!A]>, !warp.cursor<read>
          %x = tile.view %s[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
          %d = tile.dot %x, %x, %acc lhs mk rhs nk : !tile.view<!A>, !tile.view<!A> -> tensor<64x64xf32>
          warp.release %s : !warp.slot<read, [!A]>
          scf.yield %d, %next : tensor<64x64xf32>, !warp.cursor<read>
        }
        %h = arith.truncf %sum#0 : tensor<64x64xf32> to tensor<64x64xf16>
        tile.store %h, %o[%c0, %c0] : tensor<64x64xf16>, !o
      }
    }
    gpu.return
  }

  // Two products in a chain: the first is awaited before the conversion of its
  // result, which the second takes from registers. The second's accumulator is
  // used in the iteration, so it is awaited there.
  // CHECK-LABEL: gpu.func @chain
  // CHECK: %[[S:.*]], %[[D1:.*]] = tile.dot.async {{.*}} -> <tensor<64x64xf32>>
  // CHECK: %[[V:.*]] = tile.await %[[S]]
  // CHECK: %[[P:.*]] = arith.truncf %[[V]]
  // CHECK: %[[O:.*]], %[[D2:.*]] = tile.dot.async %[[P]], %{{.*}} lhs mk rhs kn
  // CHECK: warp.release %{{.*}} after %[[D1]], %[[D2]]
  // CHECK: %[[W:.*]] = tile.await %[[O]]
  // CHECK: arith.addf %[[W]], %[[W]]
  gpu.func @chain(%q: memref<?x?xf16>, %o: memref<?x?xf32>, %n: index) kernel {
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %none = arith.constant dense<0.0> : tensor<64x32xf32>
        %x = tile.load %q[%c0, %c0] : memref<?x?xf16> -> !A
        %q0 = warp.cursor read %r : !warp.ring<1, [!A]>
        %sum:2 = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %none, %cq = %q0) -> (tensor<64x32xf32>, !warp.cursor<read>) {
          %s, %next = warp.acquire %r[%cq] : !warp.ring<1, [!A]>, !warp.cursor<read>
          %y = tile.view %s[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
          %d = tile.dot %x, %y, %zero lhs mk rhs nk : !A, !tile.view<!A> -> tensor<64x64xf32>
          %p = arith.truncf %d : tensor<64x64xf32> to tensor<64x64xf16>
          %e = tile.dot %p, %y, %acc lhs mk rhs kn : tensor<64x64xf16>, !tile.view<!A> -> tensor<64x32xf32>
          warp.release %s : !warp.slot<read, [!A]>
          %twice = arith.addf %e, %e : tensor<64x32xf32>
          scf.yield %twice, %next : tensor<64x32xf32>, !warp.cursor<read>
        }
        tile.store %sum#0, %o[%c0, %c0] : tensor<64x32xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }

  // A product that only adds to another one goes on in the tensor core: nothing
  // waits between them. One whose sum is used elsewhere, too, is awaited.
  // CHECK-LABEL: gpu.func @sum
  // CHECK: %[[FIRST:.*]], %[[D1:.*]] = tile.dot.async {{.*}}, %[[ZERO:.*]] lhs
  // CHECK-NOT: tile.await
  // CHECK: %[[SECOND:.*]], %[[D2:.*]] = tile.dot.async {{.*}}, %[[FIRST]] lhs
  // CHECK-NEXT: %[[SUM:.*]] = tile.await %[[SECOND]]
  // CHECK: %[[THIRD:.*]], %[[D3:.*]] = tile.dot.async {{.*}}, %[[SUM]] lhs
  // CHECK: warp.release %{{.*}} after %[[D1]], %[[D2]], %[[D3]]
  // CHECK: %[[W:.*]] = tile.await %[[THIRD]]
  // CHECK: arith.addf %[[SUM]], %[[W]]
  gpu.func @sum(%q: memref<?x?xf16>, %o: memref<?x?xf32>) kernel {
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %x = tile.load %q[%c0, %c0] : memref<?x?xf16> -> !A
        %q0 = warp.cursor read %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%q0] : !warp.ring<1, [!A]>, !warp.cursor<read>
        %y = tile.view %s[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        %a = tile.dot %y, %y, %zero lhs mk rhs nk : !tile.view<!A>, !tile.view<!A> -> tensor<64x64xf32>
        %b = tile.dot %x, %y, %a lhs mk rhs nk : !A, !tile.view<!A> -> tensor<64x64xf32>
        %c = tile.dot %x, %y, %b lhs mk rhs nk : !A, !tile.view<!A> -> tensor<64x64xf32>
        warp.release %s : !warp.slot<read, [!A]>
        %d = arith.addf %b, %c : tensor<64x64xf32>
        tile.store %d, %o[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }

  // The slot was acquired in front of the loop: the last product's token is
  // carried out to its release.
  // CHECK-LABEL: gpu.func @resident
  // CHECK: %[[S:.*]], %{{.*}} = warp.acquire
  // CHECK: %[[READY:.*]] = warp.ready
  // CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %[[READY]]) -> (!tile.pending<tensor<64x64xf32>>, !warp.done)
  // CHECK: %[[D:.*]], %[[DONE:.*]] = tile.dot.async
  // CHECK: scf.yield %[[D]], %[[DONE]]
  // CHECK: warp.release %[[S]] after %[[R]]#1
  gpu.func @resident(%p: memref<?x?xf16>, %o: memref<?x?xf32>, %n: index) kernel {
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %a = tile.load %p[%c0, %c0] : memref<?x?xf16> -> !A
        %q = warp.cursor read %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%q] : !warp.ring<1, [!A]>, !warp.cursor<read>
        %x = tile.view %s[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        %sum = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32> {
          %d = tile.dot %a, %x, %acc lhs mk rhs nk : !A, !tile.view<!A> -> tensor<64x64xf32>
          scf.yield %d : tensor<64x64xf32>
        }
        warp.release %s : !warp.slot<read, [!A]>
        tile.store %sum, %o[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }

  // A branch: the arm without the product is done at once.
  // CHECK-LABEL: gpu.func @branch
  // CHECK: %[[READY:.*]] = warp.ready
  // CHECK: %[[IF:.*]]:2 = scf.if
  // CHECK: %{{.*}}, %[[DONE:.*]] = tile.dot.async
  // CHECK: scf.yield %{{.*}}, %[[DONE]]
  // CHECK: } else {
  // CHECK: scf.yield %{{.*}}, %[[READY]]
  // CHECK: warp.release %{{.*}} after %[[IF]]#1

  // Neither a statistic of rows nor f32 is staged.
  // STAGED-LABEL: gpu.func @branch
  // STAGED-NOT: tile.store.async
  // STAGED: tile.store %{{.*}} : tensor<64x64xf32>
  // STAGED: tile.store %{{.*}} : tensor<64xf32>
  gpu.func @branch(%p: memref<?x?xf16>, %o: memref<?x?xf32>, %l: memref<?xf32>, %live: i1) kernel {
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %a = tile.load %p[%c0, %c0] : memref<?x?xf16> -> !A
        %q = warp.cursor read %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%q] : !warp.ring<1, [!A]>, !warp.cursor<read>
        %x = tile.view %s[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        %d = scf.if %live -> tensor<64x64xf32> {
          %e = tile.dot %a, %x, %zero lhs mk rhs nk : !A, !tile.view<!A> -> tensor<64x64xf32>
          scf.yield %e : tensor<64x64xf32>
        } else {
          scf.yield %zero : tensor<64x64xf32>
        }
        warp.release %s : !warp.slot<read, [!A]>
        tile.store %d, %o[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
        %m = tile.reduce max %d dim 1 : tensor<64x64xf32> -> tensor<64xf32>
        tile.store %m, %l[%c0] : tensor<64xf32>, memref<?xf32>
      }
    }
    gpu.return
  }
}
