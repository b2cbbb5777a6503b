// RUN: fa3-opt %s -tile-map-grid=mode=cta -canonicalize -cse | FileCheck %s
// RUN: fa3-opt %s '-tile-map-grid=mode=cta l2-bytes=0' -canonicalize | FileCheck %s --check-prefix=NONE
// RUN: fa3-opt %s '-tile-map-grid=mode=cta order=longest-first' -canonicalize | FileCheck %s --check-prefix=NONE
// RUN: %stages %S/Inputs/shared_full_bias.mlir --pass tile-map-grid --options 'loads=bulk l2-bytes=64' --dims b=3,h=2,hk=2,sq=130,sk=72 --atol 0.05
// RUN: %stages %S/Inputs/shared_full_bias.mlir --pass tile-map-grid --options 'loads=bulk l2-bytes=64 mode=static' --dims b=3,h=2,hk=2,sq=130,sk=72 --atol 0.05
// RUN: %stages %S/Inputs/shared_full_bias.mlir --pass tile-map-grid --options 'loads=bulk' --dims b=3,h=2,hk=2,sq=130,sk=72 --atol 0.05

// 128 MiB of the bias belong to a head, which no cache holds. If its stride
// says that batches share them, all batches go before the next row.
// CHECK-LABEL: func.func @perhaps_host
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: memref
// CHECK: memref.extract_strided_metadata %[[BIAS]]
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %strides#0, %c0
// CHECK: %[[FRONT:.*]] = arith.select %[[SAME]], %c2, %c1
// CHECK: tile.launch @kernels::@perhaps blocks %c512 args(%[[BIAS]], %{{.*}}, %[[FRONT]] :
// NONE-LABEL: func.func @perhaps_host
// NONE-NOT: arith.select
// NONE: args(%{{[^,]*}}, %{{[^,]*}} :
func.func @perhaps_host(%bias: memref<2x4x8192x8192xf16, strided<[?, ?, ?, 1]>>, %out: memref<2x4x8192x8192xf16>) {
  tile.launch @kernels::@perhaps args(%bias, %out : memref<2x4x8192x8192xf16, strided<[?, ?, ?, 1]>>, memref<2x4x8192x8192xf16>)
  return
}

// All batches share them whatever the strides are; extents decide.
// CHECK-LABEL: func.func @shared_host
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: memref<4x?x8192xf16>, %{{.*}}, %[[BATCHES:[a-z0-9]+]]: index
// CHECK: %[[ROWS:.*]] = memref.dim %[[BIAS]]
// CHECK: %[[BYTES:.*]] = arith.muli %[[ROWS]], %c16384
// CHECK: %[[LARGE:.*]] = arith.cmpi ugt, %[[BYTES]], %c33554432
// CHECK: %[[ALL:.*]] = arith.maxui %[[BATCHES]], %c1
// CHECK: %[[FRONT:.*]] = arith.select %[[LARGE]], %[[ALL]], %c1
// CHECK: args(%[[BIAS]], %{{.*}}, %[[BATCHES]], %[[FRONT]] :
func.func @shared_host(%bias: memref<4x?x8192xf16>, %out: memref<?x4x8192x64xf16>, %b: index) {
  tile.launch @kernels::@shared args(%bias, %out, %b : memref<4x?x8192xf16>, memref<?x4x8192x64xf16>, index)
  return
}

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @perhaps
  // CHECK-SAME: %[[FRONT:[a-z0-9]+]]: index) kernel
  // CHECK: %[[ID:.*]] = gpu.block_id x
  // CHECK: %[[FIRST:.*]] = arith.remui %[[ID]], %[[FRONT]]
  // CHECK: %[[REST:.*]] = arith.divui %[[ID]], %[[FRONT]]
  // CHECK: %[[TURNS:.*]] = arith.divui %c2, %[[FRONT]]
  // CHECK: %[[ROW:.*]] = arith.remui %[[REST]], %c64
  // CHECK: %[[REST2:.*]] = arith.divui %[[REST]], %c64
  // CHECK: %[[TURN:.*]] = arith.remui %[[REST2]], %[[TURNS]]
  // CHECK: %[[HEAD:.*]] = arith.divui %[[REST2]], %[[TURNS]]
  // CHECK: %[[START:.*]] = arith.muli %[[TURN]], %[[FRONT]]
  // CHECK: %[[BATCH:.*]] = arith.addi %[[START]], %[[FIRST]]
  // CHECK: %[[M:.*]] = arith.muli %[[ROW]], %c128
  // CHECK: tile.load %{{.*}}[%[[BATCH]], %[[HEAD]], %[[M]], %{{.*}}]
  gpu.func @perhaps(%bias: memref<2x4x8192x8192xf16, strided<[?, ?, ?, 1]>>, %out: memref<2x4x8192x8192xf16>) kernel {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    tile.grid (%m, %h, %b) in (%c64, %c4, %c2) {
      %row = arith.muli %m, %c128 : index
      scf.for %j = %c0 to %c128 step %c64 {
        %t = tile.load %bias[%b, %h, %row, %j] : memref<2x4x8192x8192xf16, strided<[?, ?, ?, 1]>> -> tensor<128x64xf16>
        %y = arith.negf %t : tensor<128x64xf16>
        tile.store %y, %out[%b, %h, %row, %j] : tensor<128x64xf16>, memref<2x4x8192x8192xf16>
      }
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @shared
  // CHECK-SAME: %[[FRONT:[a-z0-9]+]]: index) kernel
  // CHECK: arith.remui %{{.*}}, %[[FRONT]]
  gpu.func @shared(%bias: memref<4x?x8192xf16>, %out: memref<?x4x8192x64xf16>, %batches: index) kernel {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    tile.grid (%m, %h, %b) in (%c64, %c4, %batches) {
      %row = arith.muli %m, %c128 : index
      %t = tile.load %bias[%h, %row, %c0] : memref<4x?x8192xf16> -> tensor<128x64xf16>
      %y = arith.negf %t : tensor<128x64xf16>
      tile.store %y, %out[%b, %h, %row, %c0] : tensor<128x64xf16>, memref<?x4x8192x64xf16>
    }
    gpu.return
  }
}
