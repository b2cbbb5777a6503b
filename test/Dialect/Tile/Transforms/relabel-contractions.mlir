// RUN: fa3-opt %s -tile-relabel-contractions | FileCheck %s

// A chain of two products that is not attention.
gpu.module @m {
  // 8 bits: the left operand is relabelled in front of its conversion.
  // CHECK-LABEL: gpu.func @eight
  // CHECK: %[[S:.*]] = tile.dot %arg0, %arg1
  // CHECK: %[[R:.*]] = tile.relabel %[[S]] dim 1 bits [0, 3, 1, 2] : tensor<64x96xf32> -> tensor<64x96xf32>
  // CHECK: %[[P:.*]] = arith.truncf %[[R]]
  // CHECK: %[[V:.*]] = tile.relabel %arg2 dim 0 bits [0, 3, 1, 2]
  // CHECK: tile.dot %[[P]], %[[V]]
  gpu.func @eight(%a: tensor<64x32xf8E4M3FN>, %b: tensor<96x32xf8E4M3FN>,
                  %c: tensor<96x16xf8E4M3FN>, %out: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x96xf32>
    %zero2 = arith.constant dense<0.0> : tensor<64x16xf32>
    %s = tile.dot %a, %b, %zero lhs mk rhs nk : tensor<64x32xf8E4M3FN>, tensor<96x32xf8E4M3FN> -> tensor<64x96xf32>
    %p = arith.truncf %s : tensor<64x96xf32> to tensor<64x96xf8E4M3FN>
    %o = tile.dot %p, %c, %zero2 lhs mk rhs kn : tensor<64x96xf8E4M3FN>, tensor<96x16xf8E4M3FN> -> tensor<64x16xf32>
    tile.store %o, %out[%c0, %c0] : tensor<64x16xf32>, memref<?x?xf32>
    gpu.return
  }

  // The converted tile has another use, which keeps its order; K runs along the
  // columns of the right operand.
  // CHECK-LABEL: gpu.func @shared
  // CHECK: %[[P:.*]] = arith.truncf
  // CHECK: %[[R:.*]] = tile.relabel %[[P]] dim 1 bits [0, 3, 1, 2] : tensor<64x32xf8E5M2>
  // CHECK: %[[V:.*]] = tile.relabel %arg2 dim 1 bits [0, 3, 1, 2]
  // CHECK: tile.dot %[[R]], %[[V]]
  // CHECK: tile.store %[[P]]
  gpu.func @shared(%a: tensor<64x32xf8E5M2>, %b: tensor<32x32xf8E5M2>,
                   %c: tensor<16x32xf8E5M2>, %out: memref<?x?xf32>, %raw: memref<?x?xf8E5M2>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %zero2 = arith.constant dense<0.0> : tensor<64x16xf32>
    %s = tile.dot %a, %b, %zero lhs mk rhs nk : tensor<64x32xf8E5M2>, tensor<32x32xf8E5M2> -> tensor<64x32xf32>
    %p = arith.truncf %s : tensor<64x32xf32> to tensor<64x32xf8E5M2>
    %o = tile.dot %p, %c, %zero2 lhs mk rhs nk : tensor<64x32xf8E5M2>, tensor<16x32xf8E5M2> -> tensor<64x16xf32>
    tile.store %p, %raw[%c0, %c0] : tensor<64x32xf8E5M2>, memref<?x?xf8E5M2>
    tile.store %o, %out[%c0, %c0] : tensor<64x16xf32>, memref<?x?xf32>
    gpu.return
  }

  // 16 bits: the layouts are the same. A left operand that is loaded goes
  // through shared memory, which has no lanes.
  // CHECK-LABEL: gpu.func @sixteen
  // CHECK-NOT: tile.relabel
  gpu.func @sixteen(%a: tensor<64x32xf16>, %b: tensor<96x32xf16>,
                    %c: tensor<96x16xf16>, %out: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x96xf32>
    %zero2 = arith.constant dense<0.0> : tensor<64x16xf32>
    %s = tile.dot %a, %b, %zero lhs mk rhs nk : tensor<64x32xf16>, tensor<96x32xf16> -> tensor<64x96xf32>
    %p = arith.truncf %s : tensor<64x96xf32> to tensor<64x96xf16>
    %o = tile.dot %p, %c, %zero2 lhs mk rhs kn : tensor<64x96xf16>, tensor<96x16xf16> -> tensor<64x16xf32>
    tile.store %o, %out[%c0, %c0] : tensor<64x16xf32>, memref<?x?xf32>
    gpu.return
  }
}
