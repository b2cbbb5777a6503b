// RUN: fa3-opt %s -split-input-file -tile-make-async=store=in-place -verify-diagnostics | FileCheck %s
// RUN: fa3-opt %s -split-input-file '-tile-make-async=smem-budget=20000' | FileCheck %s --check-prefix=AUTO
// RUN: %stages-window --pass tile-make-async --options 'store=in-place'
// RUN: %stages-window --pass tile-size-rings --options 'mode=static store=in-place' --run=--completion=random --run=--schedule-seed=1
// RUN: %stages-window --pass hopper-allocate-smem --options 'mode=static store=in-place' --run=--require-fences

// Over the rows that this replica has read: the slot is given back when the
// copy has read them.
!Q = tensor<128x64xf16>
!W = tensor<64x64xf16>
!o = memref<?x?xf16, strided<[?, 1]>>
gpu.module @m {
  // CHECK-LABEL: gpu.func @own_rows
  // CHECK: %[[S:.*]], %{{.*}} = warp.acquire
  // CHECK: %[[V:.*]] = tile.view %[[S]]
  // CHECK: %{{.*}}, %[[DOT:.*]] = tile.dot.async %[[V]]
  // CHECK: tile.write %{{.*}}, %[[V]]
  // CHECK: %[[COPY:.*]] = tile.store.async %[[V]], %arg0
  // CHECK: warp.release %[[S]] after %[[DOT]], %[[COPY]]
  // AUTO-LABEL: gpu.func @own_rows
  // AUTO-NOT: tile.store %
  // AUTO: tile.store.async
  gpu.func @own_rows(%o: !o) kernel {
    %r = warp.ring : !warp.ring<1, [!Q]>
    %k = warp.ring : !warp.ring<1, [!W]>
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %q = warp.cursor read %r : !warp.ring<1, [!Q]>
        %p = warp.cursor read %k : !warp.ring<1, [!W]>
        %s, %next = warp.acquire %r[%q] : !warp.ring<1, [!Q]>, !warp.cursor<read>
        %t, %after = warp.acquire %k[%p] : !warp.ring<1, [!W]>, !warp.cursor<read>
        %row = arith.muli %g, %c64 : index
        %v = tile.view %s[%row, %c0] : !warp.slot<read, [!Q]> -> !tile.view<!W>
        %w = tile.view %t[%c0, %c0] : !warp.slot<read, [!W]> -> !tile.view<!W>
        %d = tile.dot %v, %w, %zero lhs mk rhs nk : !tile.view<!W>, !tile.view<!W> -> tensor<64x64xf32>
        warp.release %s : !warp.slot<read, [!Q]>
        warp.release %t : !warp.slot<read, [!W]>
        %h = arith.truncf %d : tensor<64x64xf32> to !W
        tile.store %h, %o[%row, %c0] : !W, !o
      }
    }
    gpu.return
  }
}

// -----

// The tile has twice the bytes of the window: columns go through it in two
// pieces, the second when the copy of the first has read it.
!Q = tensor<128x64xf8E4M3FN>
!W = tensor<64x64xf8E4M3FN>
!o = memref<?x?xf16, strided<[?, 1]>>
gpu.module @m {
  // CHECK-LABEL: gpu.func @pieces
  // CHECK: %[[S:.*]], %{{.*}} = warp.acquire
  // CHECK: %{{.*}}, %[[DOT:.*]] = tile.dot.async
  // CHECK: %[[P:.*]] = tensor.extract_slice %[[O:.*]][0, 0] [64, 32] [1, 1] : tensor<64x64xf16> to tensor<64x32xf16>
  // CHECK: %[[V:.*]] = tile.view %[[S]][%[[ROW:.*]], %{{.*}}] : {{.*}} -> <tensor<64x32xf16>>
  // CHECK: tile.write %[[P]], %[[V]]
  // CHECK: %[[FIRST:.*]] = tile.store.async %[[V]], %arg0[%[[ROW]], %c0
  // CHECK: %[[P:.*]] = tensor.extract_slice %[[O]][0, 32] [64, 32]
  // CHECK: %[[V:.*]] = tile.view %[[S]][%[[ROW]], %{{.*}}] : {{.*}} -> <tensor<64x32xf16>>
  // CHECK: warp.wait %[[FIRST]]
  // CHECK: tile.write %[[P]], %[[V]]
  // CHECK: %[[COPY:.*]] = tile.store.async %[[V]], %arg0
  // CHECK: warp.release %[[S]] after %[[DOT]], %[[COPY]]
  // AUTO-LABEL: gpu.func @pieces
  // AUTO: tensor.extract_slice
  gpu.func @pieces(%o: !o) kernel {
    %r = warp.ring : !warp.ring<1, [!Q]>
    %k = warp.ring : !warp.ring<1, [!W]>
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %q = warp.cursor read %r : !warp.ring<1, [!Q]>
        %p = warp.cursor read %k : !warp.ring<1, [!W]>
        %s, %next = warp.acquire %r[%q] : !warp.ring<1, [!Q]>, !warp.cursor<read>
        %t, %after = warp.acquire %k[%p] : !warp.ring<1, [!W]>, !warp.cursor<read>
        %row = arith.muli %g, %c64 : index
        %v = tile.view %s[%row, %c0] : !warp.slot<read, [!Q]> -> !tile.view<!W>
        %w = tile.view %t[%c0, %c0] : !warp.slot<read, [!W]> -> !tile.view<!W>
        %d = tile.dot %v, %w, %zero lhs mk rhs nk : !tile.view<!W>, !tile.view<!W> -> tensor<64x64xf32>
        warp.release %s : !warp.slot<read, [!Q]>
        warp.release %t : !warp.slot<read, [!W]>
        %h = arith.truncf %d : tensor<64x64xf32> to tensor<64x64xf16>
        tile.store %h, %o[%row, %c0] : tensor<64x64xf16>, !o
      }
    }
    gpu.return
  }
}

// -----

// Both replicas read all rows: there is nothing to write over.
!W = tensor<64x64xf16>
!o = memref<?x?xf16, strided<[?, 1]>>
gpu.module @m {
  // AUTO-LABEL: gpu.func @shared
  // AUTO: tile.store %
  gpu.func @shared(%o: !o) kernel {
    %k = warp.ring : !warp.ring<1, [!W]>
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %p = warp.cursor read %k : !warp.ring<1, [!W]>
        %t, %after = warp.acquire %k[%p] : !warp.ring<1, [!W]>, !warp.cursor<read>
        %row = arith.muli %g, %c64 : index
        %w = tile.view %t[%c0, %c0] : !warp.slot<read, [!W]> -> !tile.view<!W>
        %d = tile.dot %w, %w, %zero lhs mk rhs nk : !tile.view<!W>, !tile.view<!W> -> tensor<64x64xf32>
        warp.release %t : !warp.slot<read, [!W]>
        %h = arith.truncf %d : tensor<64x64xf32> to !W
        // expected-error @below {{cannot be done in place: no slot that its group alone reads has a window for a tile of type 'tensor<64x64xf16>'}}
        tile.store %h, %o[%row, %c0] : !W, !o
      }
    }
    gpu.return
  }
}

// -----

// Two results go through two slots: the copy of the first may still read its
// own when the second is written.
!Q = tensor<128x64xf16>
!W = tensor<64x64xf16>
!o = memref<?x?xf16, strided<[?, 1]>>
gpu.module @m {
  // CHECK-LABEL: gpu.func @two_results
  // CHECK: %[[S:.*]], %{{.*}} = warp.acquire %{{.*}}[%{{.*}}] : <1, [tensor<128x64xf16>]>
  // CHECK: %[[T:.*]], %{{.*}} = warp.acquire %{{.*}}[%{{.*}}] : <1, [tensor<128x64xf16>]>
  // CHECK: %[[V:.*]] = tile.view %[[S]]
  // CHECK: %[[W:.*]] = tile.view %[[T]]
  // CHECK: tile.store.async %[[V]], %arg0
  // CHECK: tile.store.async %[[W]], %arg1
  gpu.func @two_results(%o: !o, %p: !o) kernel {
    %r = warp.ring : !warp.ring<1, [!Q]>
    %k = warp.ring : !warp.ring<1, [!Q]>
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %cr = warp.cursor read %r : !warp.ring<1, [!Q]>
        %ck = warp.cursor read %k : !warp.ring<1, [!Q]>
        %s, %next = warp.acquire %r[%cr] : !warp.ring<1, [!Q]>, !warp.cursor<read>
        %t, %after = warp.acquire %k[%ck] : !warp.ring<1, [!Q]>, !warp.cursor<read>
        %row = arith.muli %g, %c64 : index
        %v = tile.view %s[%row, %c0] : !warp.slot<read, [!Q]> -> !tile.view<!W>
        %w = tile.view %t[%row, %c0] : !warp.slot<read, [!Q]> -> !tile.view<!W>
        %d = tile.dot %v, %w, %zero lhs mk rhs nk : !tile.view<!W>, !tile.view<!W> -> tensor<64x64xf32>
        warp.release %s : !warp.slot<read, [!Q]>
        warp.release %t : !warp.slot<read, [!Q]>
        %h = arith.truncf %d : tensor<64x64xf32> to !W
        tile.store %h, %o[%row, %c0] : !W, !o
        tile.store %h, %p[%row, %c0] : !W, !o
      }
    }
    gpu.return
  }
}
