// RUN: fa3-opt %s -tile-map-grid=mode=cta | FileCheck %s
// RUN: %stages %S/Inputs/shared_bias.mlir --pass tile-map-grid --options loads=bulk --dims b=3,h=2,hk=2,sq=130,sk=72 --atol 0.05

// All batches read the same tile of the bias: the batch runs before the head.
gpu.module @m {
  // CHECK-LABEL: gpu.func @bias
  // CHECK-SAME: %[[ROWS:.*]]: index, %[[HEADS:.*]]: index, %[[BATCHES:.*]]: index
  // CHECK: %[[ID:.*]] = gpu.block_id x
  // CHECK: %[[ROW:.*]] = arith.remui %[[ID]], %[[ROWS]]
  // CHECK: %[[REST:.*]] = arith.divui %[[ID]], %[[ROWS]]
  // CHECK: %[[BATCH:.*]] = arith.remui %[[REST]], %[[BATCHES]]
  // CHECK: %[[HEAD:.*]] = arith.divui %[[REST]], %[[BATCHES]]
  // CHECK: tile.load %{{.*}}[%[[HEAD]], %{{.*}}, %{{.*}}]
  // CHECK: tile.load %{{.*}}[%[[BATCH]], %{{.*}}, %{{.*}}]
  gpu.func @bias(%rows: index, %heads: index, %batches: index, %bias: memref<?x?x?xf16>, %x: memref<?x?x?xf16>, %out: memref<?x?x?xf16>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    tile.grid (%m, %h, %b) in (%rows, %heads, %batches) {
      %row = arith.muli %m, %c64 : index
      %t = tile.load %bias[%h, %row, %c0] : memref<?x?x?xf16> -> tensor<64x32xf16>
      %y = arith.addi %b, %h : index
      %u = tile.load %x[%b, %y, %c0] : memref<?x?x?xf16> -> tensor<64x32xf16>
      %s = arith.addf %t, %u : tensor<64x32xf16>
      tile.store %s, %out[%y, %row, %c0] : tensor<64x32xf16>, memref<?x?x?xf16>
    }
    gpu.return
  }

  // Every tile depends on both: the order of the grid.
  // CHECK-LABEL: gpu.func @own
  // CHECK-SAME: %[[ROWS:.*]]: index, %[[HEADS:.*]]: index, %[[BATCHES:.*]]: index
  // CHECK: %[[REST:.*]] = arith.divui %{{.*}}, %[[ROWS]]
  // CHECK: arith.remui %[[REST]], %[[HEADS]]
  gpu.func @own(%rows: index, %heads: index, %batches: index, %x: memref<?x?x?x?xf16>, %out: memref<?x?x?x?xf16>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    tile.grid (%m, %h, %b) in (%rows, %heads, %batches) {
      %row = arith.muli %m, %c64 : index
      %t = tile.load %x[%b, %h, %row, %c0] : memref<?x?x?x?xf16> -> tensor<64x32xf16>
      tile.store %t, %out[%b, %h, %row, %c0] : tensor<64x32xf16>, memref<?x?x?x?xf16>
    }
    gpu.return
  }

  // The launch may give a stride of zero, which the batch is likelier to have:
  // what threads read in bulk decides, not what products do.
  // CHECK-LABEL: gpu.func @perhaps
  // CHECK-SAME: %[[ROWS:.*]]: index, %[[HEADS:.*]]: index, %[[BATCHES:.*]]: index
  // CHECK: %[[REST:.*]] = arith.divui %{{.*}}, %[[ROWS]]
  // CHECK: %[[BATCH:.*]] = arith.remui %[[REST]], %[[BATCHES]]
  // CHECK: tile.load %{{.*}}[%[[BATCH]], %{{.*}}, %{{.*}}, %{{.*}}] : memref<2x4x128x64xf16, strided<[?, ?, ?, 1]>>
  gpu.func @perhaps(%rows: index, %heads: index, %batches: index, %bias: memref<2x4x128x64xf16, strided<[?, ?, ?, 1]>>, %out: memref<2x4x128x64xf16>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    tile.grid (%m, %h, %b) in (%rows, %heads, %batches) {
      %row = arith.muli %m, %c64 : index
      %t = tile.load %bias[%b, %h, %row, %c0] : memref<2x4x128x64xf16, strided<[?, ?, ?, 1]>> -> tensor<64x64xf16>
      %y = arith.negf %t : tensor<64x64xf16>
      tile.store %y, %out[%b, %h, %row, %c0] : tensor<64x64xf16>, memref<2x4x128x64xf16>
    }
    gpu.return
  }

  // All strides are known: the order of the grid.
  // CHECK-LABEL: gpu.func @known
  // CHECK-SAME: %[[ROWS:.*]]: index, %[[HEADS:.*]]: index, %[[BATCHES:.*]]: index
  // CHECK: %[[REST:.*]] = arith.divui %{{.*}}, %[[ROWS]]
  // CHECK: arith.remui %[[REST]], %[[HEADS]]
  gpu.func @known(%rows: index, %heads: index, %batches: index, %bias: memref<2x4x128x64xf16>, %out: memref<2x4x128x64xf16>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    tile.grid (%m, %h, %b) in (%rows, %heads, %batches) {
      %row = arith.muli %m, %c64 : index
      %t = tile.load %bias[%b, %h, %row, %c0] : memref<2x4x128x64xf16> -> tensor<64x64xf16>
      %y = arith.negf %t : tensor<64x64xf16>
      tile.store %y, %out[%b, %h, %row, %c0] : tensor<64x64xf16>, memref<2x4x128x64xf16>
    }
    gpu.return
  }
}
