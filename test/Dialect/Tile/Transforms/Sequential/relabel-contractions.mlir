// RUN: fa3-opt %s -tile-relabel-contractions | FileCheck %s

// A chain of two products that is not attention.
gpu.module @m {
  // 8 bits: the left operand is relabeled in front of its conversion.
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

  // K runs along the columns of the right operand, where no copy permutes it:
  // the rows of the operand that the left one is computed from go in an order
  // under which its columns need none. Masks follow; maxima, and partial sums
  // that are only ever summed, do not depend on the order.
  // CHECK-LABEL: gpu.func @rows
  // CHECK: %[[B:.*]] = tile.load %arg1
  // CHECK: %[[MASK:.*]] = arith.cmpi
  // CHECK: %[[M:.*]] = tile.relabel %[[MASK]] dim 1 bits [0, 2, 3, 1] : tensor<64x96xi1>
  // CHECK: %[[K:.*]] = tile.relabel %[[B]] dim 0 bits [0, 2, 3, 1] : tensor<96x32xf8E4M3FN>
  // CHECK: %[[S:.*]] = tile.dot %arg0, %[[K]]
  // CHECK: %[[X:.*]] = arith.select %[[M]], %[[S]]
  // CHECK: tile.reduce max %[[X]] dim 1
  // CHECK: %[[W:.*]] = arith.subf %[[X]]
  // CHECK: tile.reduce add %[[W]] dim 1 modulo 8
  // CHECK: %[[R:.*]] = tile.relabel %[[W]] dim 1 bits [0, 3, 1, 2] : tensor<64x96xf32>
  // CHECK: %[[P:.*]] = arith.truncf %[[R]]
  // CHECK: %[[V:.*]] = tile.load %arg2
  // CHECK: tile.dot %[[P]], %[[V]]
  gpu.func @rows(%a: tensor<64x32xf8E4M3FN>, %b: memref<?x32xf8E4M3FN>,
                 %c: memref<16x?xf8E4M3FN>, %out: memref<?x?xf32>, %sums: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x96xf32>
    %zero2 = arith.constant dense<0.0> : tensor<64x16xf32>
    %k = tile.load %b[%n, %c0] : memref<?x32xf8E4M3FN> -> tensor<96x32xf8E4M3FN>
    %j = tile.coord dim 1 offset %n : tensor<64x96xindex>
    %i = tile.coord dim 0 offset %c0 : tensor<64x96xindex>
    %mask = arith.cmpi sle, %j, %i : tensor<64x96xindex>
    %s = tile.dot %a, %k, %zero lhs mk rhs nk : tensor<64x32xf8E4M3FN>, tensor<96x32xf8E4M3FN> -> tensor<64x96xf32>
    %x = arith.select %mask, %s, %zero : tensor<64x96xi1>, tensor<64x96xf32>
    %m = tile.reduce max %x dim 1 : tensor<64x96xf32> -> tensor<64xf32>
    %mb = tile.broadcast %m dim 1 : tensor<64xf32> -> tensor<64x96xf32>
    %w = arith.subf %x, %mb : tensor<64x96xf32>
    %part = tile.reduce add %w dim 1 modulo 8 : tensor<64x96xf32> -> tensor<64x8xf32>
    %sum = tile.reduce add %part dim 1 : tensor<64x8xf32> -> tensor<64xf32>
    %p = arith.truncf %w : tensor<64x96xf32> to tensor<64x96xf8E4M3FN>
    %v = tile.load %c[%c0, %n] : memref<16x?xf8E4M3FN> -> tensor<16x96xf8E4M3FN>
    %o = tile.dot %p, %v, %zero2 lhs mk rhs nk : tensor<64x96xf8E4M3FN>, tensor<16x96xf8E4M3FN> -> tensor<64x16xf32>
    tile.store %sum, %sums[%c0] : tensor<64xf32>, memref<?xf32>
    tile.store %o, %out[%c0, %c0] : tensor<64x16xf32>, memref<?x?xf32>
    gpu.return
  }

  // The partial sums are stored: their columns keep their order, and so do the
  // rows of the operand.
  // CHECK-LABEL: gpu.func @partial_sums
  // CHECK: %[[B:.*]] = tile.load %arg1
  // CHECK: tile.dot %arg0, %[[B]]
  // CHECK: tile.relabel %{{.*}} dim 1 bits [0, 3, 1, 2] : tensor<16x96xf8E4M3FN>
  gpu.func @partial_sums(%a: tensor<64x32xf8E4M3FN>, %b: memref<?x32xf8E4M3FN>,
                         %c: memref<16x?xf8E4M3FN>, %out: memref<?x?xf32>, %sums: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x96xf32>
    %zero2 = arith.constant dense<0.0> : tensor<64x16xf32>
    %k = tile.load %b[%c0, %c0] : memref<?x32xf8E4M3FN> -> tensor<96x32xf8E4M3FN>
    %s = tile.dot %a, %k, %zero lhs mk rhs nk : tensor<64x32xf8E4M3FN>, tensor<96x32xf8E4M3FN> -> tensor<64x96xf32>
    %part = tile.reduce add %s dim 1 modulo 8 : tensor<64x96xf32> -> tensor<64x8xf32>
    %p = arith.truncf %s : tensor<64x96xf32> to tensor<64x96xf8E4M3FN>
    %v = tile.load %c[%c0, %c0] : memref<16x?xf8E4M3FN> -> tensor<16x96xf8E4M3FN>
    %o = tile.dot %p, %v, %zero2 lhs mk rhs nk : tensor<64x96xf8E4M3FN>, tensor<16x96xf8E4M3FN> -> tensor<64x16xf32>
    tile.store %part, %sums[%c0, %c0] : tensor<64x8xf32>, memref<?x?xf32>
    tile.store %o, %out[%c0, %c0] : tensor<64x16xf32>, memref<?x?xf32>
    gpu.return
  }

  // Two products of one sum: their operand gets its order once.
  // CHECK-LABEL: gpu.func @sum
  // CHECK: %[[B:.*]] = tile.load %arg2
  // CHECK: %[[K:.*]] = tile.relabel %[[B]] dim 0 bits [0, 2, 3, 1]
  // CHECK: %[[FIRST:.*]] = tile.dot %arg0, %[[K]], %{{.*}} lhs mk rhs nk
  // CHECK: %[[S:.*]] = tile.dot %arg1, %[[K]], %[[FIRST]] lhs mk rhs nk
  // CHECK: %[[R:.*]] = tile.relabel %[[S]] dim 1 bits [0, 3, 1, 2]
  // CHECK: arith.truncf %[[R]]
  gpu.func @sum(%a: tensor<64x32xf8E4M3FN>, %b: tensor<64x32xf8E4M3FN>, %c: memref<?x32xf8E4M3FN>,
                %d: tensor<16x96xf8E4M3FN>, %out: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x96xf32>
    %zero2 = arith.constant dense<0.0> : tensor<64x16xf32>
    %k = tile.load %c[%c0, %c0] : memref<?x32xf8E4M3FN> -> tensor<96x32xf8E4M3FN>
    %t = tile.dot %a, %k, %zero lhs mk rhs nk : tensor<64x32xf8E4M3FN>, tensor<96x32xf8E4M3FN> -> tensor<64x96xf32>
    %s = tile.dot %b, %k, %t lhs mk rhs nk : tensor<64x32xf8E4M3FN>, tensor<96x32xf8E4M3FN> -> tensor<64x96xf32>
    %p = arith.truncf %s : tensor<64x96xf32> to tensor<64x96xf8E4M3FN>
    %o = tile.dot %p, %d, %zero2 lhs mk rhs nk : tensor<64x96xf8E4M3FN>, tensor<16x96xf8E4M3FN> -> tensor<64x16xf32>
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
