// RUN: fa3-opt %s -tile-map-grid | FileCheck %s
// RUN: not fa3-opt %s -tile-map-grid=mode=static 2>&1 | FileCheck %s --check-prefix=STATIC

// Tiles with flags, and those that wait for some, have a CTA each. Without them
// a loop over tiles would hide their starts.
// CHECK-LABEL: gpu.func @set
// CHECK-NOT: tile.share
// CHECK: gpu.block_id x
// CHECK-NEXT: tile.clear_flag
// CHECK: tile.set_flag
// CHECK-LABEL: gpu.func @await
// CHECK: gpu.block_id x
// CHECK-NEXT: tile.await_flags
// CHECK-LABEL: gpu.func @neither
// CHECK: gpu.grid_dim x
// STATIC: has tiles with flags, for which the groups of a CTA meet: expects one CTA per tile, got a static or dynamic grid

!w = memref<?x?x64xf32>
!c = memref<?x64xf32>

gpu.module @m {
  gpu.func @set(%f: memref<?xi32>, %c: !c, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    tile.grid (%i) in (%n) {
      tile.clear_flag %f[%i] : memref<?xi32>
      %i0 = arith.muli %i, %c64 : index
      %x = tile.load %c[%i0, %c0] : !c -> tensor<64x64xf32>
      tile.store %x, %c[%i0, %c0] : tensor<64x64xf32>, !c
      tile.set_flag %f[%i] : memref<?xi32>
    }
    gpu.return
  }
  gpu.func @await(%f: memref<?x?xi32>, %w: !w, %c: !c, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %p = memref.dim %w, %c0 : !w
    tile.grid (%i) in (%n) {
      tile.await_flags %f[%i] : memref<?x?xi32>
      %i0 = arith.muli %i, %c64 : index
      %none = arith.constant dense<0.0> : tensor<64x64xf32>
      %acc = scf.for %part = %c0 to %p step %c1 iter_args(%sum = %none) -> (tensor<64x64xf32>) {
        %x = tile.load %w[%part, %i0, %c0] : !w -> tensor<64x64xf32>
        %next = arith.addf %sum, %x : tensor<64x64xf32>
        scf.yield %next : tensor<64x64xf32>
      }
      tile.store %acc, %c[%i0, %c0] : tensor<64x64xf32>, !c
    }
    gpu.return
  }
  gpu.func @neither(%f: memref<?x?xi32>, %w: !w, %c: !c, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %p = memref.dim %w, %c0 : !w
    tile.grid (%i) in (%n) {
      %i0 = arith.muli %i, %c64 : index
      %none = arith.constant dense<0.0> : tensor<64x64xf32>
      %acc = scf.for %part = %c0 to %p step %c1 iter_args(%sum = %none) -> (tensor<64x64xf32>) {
        %x = tile.load %w[%part, %i0, %c0] : !w -> tensor<64x64xf32>
        %next = arith.addf %sum, %x : tensor<64x64xf32>
        scf.yield %next : tensor<64x64xf32>
      }
      tile.store %acc, %c[%i0, %c0] : tensor<64x64xf32>, !c
    }
    gpu.return
  }
}
