// RUN: fa3-opt %s -tile-release-early | FileCheck %s
// RUN: %stages-window --pass tile-release-early
// RUN: %stages-gemm --pass tile-release-early
// RUN: %stages-window --pass tile-release-early --options 'mode=static block-m=64 block-n=32' --run=--completion=random --run=--schedule-seed=3

!A = tensor<64x32xf16>
!o = memref<?x?xf32>
gpu.module @m {
  // Behind the last use, into both arms of a branch, and in front of what does
  // not need the slot.
  // CHECK-LABEL: gpu.func @branch
  // CHECK: %[[S:.*]], %{{.*}} = warp.acquire
  // CHECK: scf.if
  // CHECK: tile.dot.async
  // CHECK: %[[LOOP:.*]]:2 = scf.for
  // CHECK: }
  // CHECK-NEXT: warp.release %[[S]] after %[[LOOP]]#1
  // CHECK-NEXT: memref.store
  // CHECK: } else {
  // CHECK: warp.release %[[S]] after
  // CHECK: }
  // CHECK-NOT: warp.release
  // CHECK: memref.store
  gpu.func @branch(%o: !o, %n: index, %x: f32, %some: i1) kernel {
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %q = warp.cursor read %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%q] : !warp.ring<1, [!A]>, !warp.cursor<read>
        %v = tile.view %s[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        %ready = warp.ready
        %done = scf.if %some -> (!warp.done) {
          %a, %d = tile.dot.async %v, %v, %zero lhs mk rhs nk : !tile.view<!A>, !tile.view<!A>, tensor<64x64xf32> -> <tensor<64x64xf32>>
          %first = tile.await %a : <tensor<64x64xf32>>
          %all:2 = scf.for %t = %c0 to %n step %c1 iter_args(%sum = %first, %last = %d) -> (tensor<64x64xf32>, !warp.done) {
            %b, %e = tile.dot.async %v, %v, %sum lhs mk rhs nk : !tile.view<!A>, !tile.view<!A>, tensor<64x64xf32> -> <tensor<64x64xf32>>
            %w = tile.await %b : <tensor<64x64xf32>>
            scf.yield %w, %e : tensor<64x64xf32>, !warp.done
          }
          memref.store %x, %o[%c1, %c0] : !o
          scf.yield %all#1 : !warp.done
        } else {
          scf.yield %ready : !warp.done
        }
        memref.store %x, %o[%c0, %c0] : !o
        warp.release %s after %done : !warp.slot<read, [!A]>
      }
    }
    gpu.return
  }

  // Not in front of the await: the release would wait for the product.
  // CHECK-LABEL: gpu.func @behind_await
  // CHECK: tile.dot.async
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: tile.await
  // CHECK-NEXT: warp.release
  // CHECK-NEXT: memref.store
  gpu.func @behind_await(%o: !o, %x: f32) kernel {
    %r = warp.ring : !warp.ring<1, [!A]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %q = warp.cursor read %r : !warp.ring<1, [!A]>
        %s, %next = warp.acquire %r[%q] : !warp.ring<1, [!A]>, !warp.cursor<read>
        %v = tile.view %s[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        %a, %d = tile.dot.async %v, %v, %zero lhs mk rhs nk : !tile.view<!A>, !tile.view<!A>, tensor<64x64xf32> -> <tensor<64x64xf32>>
        memref.store %x, %o[%c0, %c0] : !o
        %w = tile.await %a : <tensor<64x64xf32>>
        memref.store %x, %o[%c0, %c0] : !o
        warp.release %s after %d : !warp.slot<read, [!A]>
      }
    }
    gpu.return
  }

  // Threads that have read two slots meet once for both, if nothing on the way
  // waits for others.
  // CHECK-LABEL: gpu.func @readers
  // CHECK: %[[A:.*]], %{{.*}} = warp.acquire
  // CHECK: %[[B:.*]], %{{.*}} = warp.acquire
  // CHECK: tile.read
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: tile.read
  // CHECK-NEXT: warp.release %[[A]]
  // CHECK-NEXT: warp.release %[[B]]
  // CHECK: %[[C:.*]], %{{.*}} = warp.acquire
  // CHECK: tile.read
  // CHECK-NEXT: warp.release %[[C]]
  // CHECK-NEXT: %[[D:.*]], %{{.*}} = warp.acquire
  // CHECK: tile.read
  // CHECK-NEXT: warp.release %[[D]]
  gpu.func @readers(%o: !o, %x: f32) kernel {
    %r = warp.ring : !warp.ring<2, [!A]>
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %q = warp.cursor read %r : !warp.ring<2, [!A]>
        %a, %q1 = warp.acquire %r[%q] : !warp.ring<2, [!A]>, !warp.cursor<read>
        %b, %q2 = warp.acquire %r[%q1] : !warp.ring<2, [!A]>, !warp.cursor<read>
        %va = tile.view %a[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        %vb = tile.view %b[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        %ra = tile.read %va : !tile.view<!A> -> !A
        memref.store %x, %o[%c0, %c0] : !o
        %rb = tile.read %vb : !tile.view<!A> -> !A
        memref.store %x, %o[%c0, %c0] : !o
        warp.release %a : !warp.slot<read, [!A]>
        warp.release %b : !warp.slot<read, [!A]>
        %c, %q3 = warp.acquire %r[%q2] : !warp.ring<2, [!A]>, !warp.cursor<read>
        %vc = tile.view %c[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        %rc = tile.read %vc : !tile.view<!A> -> !A
        %d, %q4 = warp.acquire %r[%q3] : !warp.ring<2, [!A]>, !warp.cursor<read>
        %vd = tile.view %d[%c0, %c0] : !warp.slot<read, [!A]> -> !tile.view<!A>
        %rd = tile.read %vd : !tile.view<!A> -> !A
        warp.release %c : !warp.slot<read, [!A]>
        warp.release %d : !warp.slot<read, [!A]>
      }
    }
    gpu.return
  }
}
