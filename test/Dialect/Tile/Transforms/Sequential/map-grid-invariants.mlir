// RUN: fa3-opt %s -tile-map-grid=mode=static | FileCheck %s --check-prefixes=CHECK,STATIC
// RUN: fa3-opt %s -tile-map-grid=mode=dynamic | FileCheck %s --check-prefixes=CHECK,DYNAMIC
// RUN: fa3-opt %s -tile-map-grid=mode=cta | FileCheck %s --check-prefix=CTA

// A scale for all tiles is read in front of the loop over them; one of a head
// stays with its tiles, and so do tiles.
gpu.module @m {
  // CHECK-LABEL: gpu.func @scaled
  // CHECK-SAME: %[[SCALE:[a-z0-9]+]]: memref<1xf32>, %[[OF_HEAD:[a-z0-9]+]]: memref<?xf32>
  // CHECK: tile.scalar_load %[[SCALE]]
  // STATIC: scf.for
  // DYNAMIC: scf.for %{{.*}} to %{{.*}} step
  // DYNAMIC-NEXT: tile.claim
  // CHECK: tile.scalar_load %[[OF_HEAD]]
  // CHECK: tensor.splat
  // CTA-NOT: scf.for
  gpu.func @scaled(%tiles: index, %heads: index, %scale: memref<1xf32>, %of_head: memref<?xf32>, %k: memref<?x?x64xf16>, %out: memref<?x?x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    tile.grid (%m, %h) in (%tiles, %heads) {
      %row = arith.muli %m, %c64 : index
      %s = tile.scalar_load %scale[%c0] : memref<1xf32>
      %t = tile.scalar_load %of_head[%h] : memref<?xf32>
      %u = arith.mulf %s, %t : f32
      %splat = tensor.splat %u : tensor<64x64xf32>
      %x = tile.load %k[%h, %row, %c0] : memref<?x?x64xf16> -> tensor<64x64xf16>
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %d = tile.dot %x, %x, %zero lhs mk rhs nk : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
      %y = arith.mulf %d, %splat : tensor<64x64xf32>
      tile.store %y, %out[%h, %row, %c0] : tensor<64x64xf32>, memref<?x?x64xf32>
    }
    gpu.return
  }
}
