// RUN: fa3-opt %s -tile-transpose-operands | FileCheck %s

// A plain product: 8-bit operands are read along K only.
gpu.module @m {
  // CHECK-LABEL: gpu.func @gemm
  // CHECK: %[[B:.*]] = tile.transpose %arg1 : tensor<32x16xf8E4M3FN> -> tensor<16x32xf8E4M3FN>
  // CHECK: %[[A:.*]] = tile.transpose %arg0 : tensor<32x64xf8E4M3FN> -> tensor<64x32xf8E4M3FN>
  // CHECK: tile.dot %[[A]], %[[B]], %{{.*}} lhs mk rhs nk
  gpu.func @gemm(%a: tensor<32x64xf8E4M3FN>, %b: tensor<32x16xf8E4M3FN>, %out: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x16xf32>
    %s = tile.dot %a, %b, %zero lhs km rhs kn : tensor<32x64xf8E4M3FN>, tensor<32x16xf8E4M3FN> -> tensor<64x16xf32>
    tile.store %s, %out[%c0, %c0] : tensor<64x16xf32>, memref<?x?xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @untouched
  // CHECK-NOT: tile.transpose
  gpu.func @untouched(%a: tensor<64x32xf8E4M3FN>, %b: tensor<16x32xf8E4M3FN>, %c: tensor<64x16xf16>,
                      %d: tensor<16x8xf16>, %out: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x16xf32>
    %zero2 = arith.constant dense<0.0> : tensor<64x8xf32>
    %s = tile.dot %a, %b, %zero lhs mk rhs nk : tensor<64x32xf8E4M3FN>, tensor<16x32xf8E4M3FN> -> tensor<64x16xf32>
    %t = tile.dot %c, %d, %zero2 lhs mk rhs kn : tensor<64x16xf16>, tensor<16x8xf16> -> tensor<64x8xf32>
    tile.store %s, %out[%c0, %c0] : tensor<64x16xf32>, memref<?x?xf32>
    tile.store %t, %out[%c0, %c0] : tensor<64x8xf32>, memref<?x?xf32>
    gpu.return
  }
}
