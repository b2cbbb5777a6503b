// RUN: fa3-opt %s -tile-sum-by-products | FileCheck %s
// RUN: fa3-opt %s -tile-sum-by-products=sums=rounded | FileCheck %s --check-prefix=ROUNDED
// RUN: fa3-opt %s -tile-sum-by-products=sums=exact | FileCheck %s --check-prefix=EXACT
// RUN: not fa3-opt %s -tile-sum-by-products=sums=never 2>&1 | FileCheck %s --check-prefix=WORD

// WORD: for the --sums option: expects 'auto', 'exact' or 'rounded', got 'never'
// EXACT-NOT: dense<1.250000e-01>

// Not a kernel, and sums that the tensor core does not have.
// ROUNDED-LABEL: func.func @host
// ROUNDED: tile.reduce add %{{.*}} dim 1 modulo 8
func.func @host(%s: tensor<64x96xf32>, %v: tensor<64x96xf8E4M3FN>, %z: tensor<64x64xf32>) -> (tensor<64xf32>, tensor<64x64xf32>) {
  %part = tile.reduce add %s dim 1 modulo 8 : tensor<64x96xf32> -> tensor<64x8xf32>
  %h = arith.truncf %s : tensor<64x96xf32> to tensor<64x96xf8E4M3FN>
  %o = tile.dot %h, %v, %z lhs mk rhs nk : tensor<64x96xf8E4M3FN>, tensor<64x96xf8E4M3FN> -> tensor<64x64xf32>
  %total = tile.reduce add %part dim 1 : tensor<64x8xf32> -> tensor<64xf32>
  return %total, %o : tensor<64xf32>, tensor<64x64xf32>
}

gpu.module @m {
  // ROUNDED-LABEL: gpu.func @wide
  // ROUNDED: tile.reduce add %{{.*}} dim 1 modulo 8 : tensor<64x96xf64>
  gpu.func @wide(%s: tensor<64x96xf64>, %v: tensor<64x96xf8E4M3FN>, %z: tensor<64x64xf32>, %out: memref<?x?xf32>, %sums: memref<?xf64>) kernel {
    %c0 = arith.constant 0 : index
    %part = tile.reduce add %s dim 1 modulo 8 : tensor<64x96xf64> -> tensor<64x8xf64>
    %h = arith.truncf %s : tensor<64x96xf64> to tensor<64x96xf8E4M3FN>
    %o = tile.dot %h, %v, %z lhs mk rhs nk : tensor<64x96xf8E4M3FN>, tensor<64x96xf8E4M3FN> -> tensor<64x64xf32>
    %total = tile.reduce add %part dim 1 : tensor<64x8xf64> -> tensor<64xf64>
    tile.store %total, %sums[%c0] : tensor<64xf64>, memref<?xf64>
    tile.store %o, %out[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }

  // The sum of a loop. It takes the tensor core longer than additions.
  // CHECK-LABEL: gpu.func @loop
  // CHECK-NOT: dense<1.250000e-01>
  // ROUNDED-LABEL: gpu.func @loop
  // ROUNDED: scf.for {{.*}} iter_args(%[[O:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}})
  // ROUNDED: %[[P:.*]] = arith.truncf
  // ROUNDED: %[[C:.*]] = arith.constant dense<1.250000e-01> : tensor<8x80xf16>
  // ROUNDED: %[[Z:.*]] = arith.constant dense<0.000000e+00> : tensor<64x8xf32>
  // ROUNDED: %[[S:.*]] = tile.dot %[[P]], %[[C]], %[[Z]] lhs mk rhs nk : tensor<64x80xf16>, tensor<8x80xf16> -> tensor<64x8xf32>
  // ROUNDED: %[[L1:.*]] = arith.addf %[[L]], %[[S]]
  // ROUNDED: %[[O1:.*]] = tile.dot %[[P]], %{{.*}}, %[[O]]
  // ROUNDED: scf.yield %[[O1]], %[[L1]]
  // ROUNDED: tile.reduce add %{{.*}} dim 1 : tensor<64x8xf32> -> tensor<64xf32>
  gpu.func @loop(%s: tensor<64x80xf32>, %v: tensor<80x128xf16>, %n: index, %out: memref<?x?xf32>, %lse: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zo = arith.constant dense<0.0> : tensor<64x128xf32>
    %zl = arith.constant dense<0.0> : tensor<64x8xf32>
    %o, %l = scf.for %i = %c0 to %n step %c1 iter_args(%oi = %zo, %li = %zl) -> (tensor<64x128xf32>, tensor<64x8xf32>) {
      %p = math.exp2 %s : tensor<64x80xf32>
      %part = tile.reduce add %p dim 1 modulo 8 : tensor<64x80xf32> -> tensor<64x8xf32>
      %h = arith.truncf %p : tensor<64x80xf32> to tensor<64x80xf16>
      %l1 = arith.addf %li, %part : tensor<64x8xf32>
      %o1 = tile.dot %h, %v, %oi lhs mk rhs kn : tensor<64x80xf16>, tensor<80x128xf16> -> tensor<64x128xf32>
      scf.yield %o1, %l1 : tensor<64x128xf32>, tensor<64x8xf32>
    }
    %total = tile.reduce add %l dim 1 : tensor<64x8xf32> -> tensor<64xf32>
    %log = math.log2 %total : tensor<64xf32>
    tile.store %log, %lse[%c0] : tensor<64xf32>, memref<?xf32>
    tile.store %o, %out[%c0, %c0] : tensor<64x128xf32>, memref<?x?xf32>
    gpu.return
  }

  // 8-bit operands, in the order of summation of the other product. The total
  // only divides.
  // CHECK-LABEL: gpu.func @divides
  // CHECK: %[[P:.*]] = arith.truncf
  // CHECK: %[[C:.*]] = arith.constant dense<1.250000e-01> : tensor<8x96xf8E4M3FN>
  // CHECK: %[[Z:.*]] = arith.constant dense<0.000000e+00> : tensor<64x8xf32>
  // CHECK: %[[S:.*]] = tile.dot %[[P]], %[[C]], %[[Z]] lhs mk rhs nk
  // CHECK: arith.addf %{{.*}}, %[[S]]
  gpu.func @divides(%s: tensor<64x96xf32>, %v: tensor<64x96xf8E4M3FN>, %l: tensor<64x8xf32>, %out: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %one = arith.constant dense<1.0> : tensor<64xf32>
    %zo = arith.constant dense<0.0> : tensor<64x64xf32>
    %p = math.exp2 %s : tensor<64x96xf32>
    %part = tile.reduce add %p dim 1 modulo 8 : tensor<64x96xf32> -> tensor<64x8xf32>
    %r = tile.relabel %p dim 1 bits [0, 3, 1, 2] : tensor<64x96xf32> -> tensor<64x96xf32>
    %h = arith.truncf %r : tensor<64x96xf32> to tensor<64x96xf8E4M3FN>
    %l1 = arith.addf %l, %part : tensor<64x8xf32>
    %o = tile.dot %h, %v, %zo lhs mk rhs nk : tensor<64x96xf8E4M3FN>, tensor<64x96xf8E4M3FN> -> tensor<64x64xf32>
    %total = tile.reduce add %l1 dim 1 : tensor<64x8xf32> -> tensor<64xf32>
    %inverse = arith.divf %one, %total : tensor<64xf32>
    %all = tile.broadcast %inverse dim 1 : tensor<64xf32> -> tensor<64x64xf32>
    %scaled = arith.mulf %o, %all : tensor<64x64xf32>
    tile.store %scaled, %out[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }

  // Beside a tile that element code reads, registers are short.
  // CHECK-LABEL: gpu.func @crowded
  // CHECK: tile.reduce add %{{.*}} dim 1 modulo 8
  // ROUNDED-LABEL: gpu.func @crowded
  // ROUNDED: tile.dot %{{.*}} : tensor<64x96xf8E4M3FN>, tensor<8x96xf8E4M3FN> -> tensor<64x8xf32>
  gpu.func @crowded(%s: tensor<64x96xf32>, %v: tensor<64x96xf8E4M3FN>, %bias: memref<?x?xf32>, %out: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %one = arith.constant dense<1.0> : tensor<64xf32>
    %zo = arith.constant dense<0.0> : tensor<64x64xf32>
    %b = tile.load %bias[%c0, %c0] : memref<?x?xf32> -> tensor<64x96xf32>
    %t = arith.addf %s, %b : tensor<64x96xf32>
    %p = math.exp2 %t : tensor<64x96xf32>
    %part = tile.reduce add %p dim 1 modulo 8 : tensor<64x96xf32> -> tensor<64x8xf32>
    %h = arith.truncf %p : tensor<64x96xf32> to tensor<64x96xf8E4M3FN>
    %o = tile.dot %h, %v, %zo lhs mk rhs nk : tensor<64x96xf8E4M3FN>, tensor<64x96xf8E4M3FN> -> tensor<64x64xf32>
    %total = tile.reduce add %part dim 1 : tensor<64x8xf32> -> tensor<64xf32>
    %inverse = arith.divf %one, %total : tensor<64xf32>
    %all = tile.broadcast %inverse dim 1 : tensor<64xf32> -> tensor<64x64xf32>
    %scaled = arith.mulf %o, %all : tensor<64x64xf32>
    tile.store %scaled, %out[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }

  // Whoever takes the logarithm of a sum would see how coarse these are.
  // CHECK-LABEL: gpu.func @told
  // CHECK: tile.reduce add %{{.*}} dim 1 modulo 8
  // ROUNDED-LABEL: gpu.func @told
  // ROUNDED: tile.dot %{{.*}} : tensor<64x96xf8E5M2>, tensor<8x96xf8E5M2> -> tensor<64x8xf32>
  gpu.func @told(%s: tensor<64x96xf32>, %v: tensor<64x96xf8E5M2>, %out: memref<?x?xf32>, %lse: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zo = arith.constant dense<0.0> : tensor<64x64xf32>
    %p = math.exp2 %s : tensor<64x96xf32>
    %part = tile.reduce add %p dim 1 modulo 8 : tensor<64x96xf32> -> tensor<64x8xf32>
    %h = arith.truncf %p : tensor<64x96xf32> to tensor<64x96xf8E5M2>
    %o = tile.dot %h, %v, %zo lhs mk rhs nk : tensor<64x96xf8E5M2>, tensor<64x96xf8E5M2> -> tensor<64x64xf32>
    %total = tile.reduce add %part dim 1 : tensor<64x8xf32> -> tensor<64xf32>
    %log = math.log2 %total : tensor<64xf32>
    tile.store %log, %lse[%c0] : tensor<64xf32>, memref<?xf32>
    tile.store %o, %out[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }

  // Partial sums that are stored are not any partial sums; the operand of
  // another product is not what is summed; nothing is rounded.
  // ROUNDED-LABEL: gpu.func @untouched
  // ROUNDED-COUNT-3: tile.reduce add %{{.*}} dim 1 modulo 8
  gpu.func @untouched(%s: tensor<64x80xf32>, %t: tensor<64x80xf32>, %v: tensor<80x64xf16>, %x: tensor<64x80xf16>, %out: memref<?x?xf32>, %lse: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zo = arith.constant dense<0.0> : tensor<64x64xf32>
    %p = math.exp2 %s : tensor<64x80xf32>
    %stored = tile.reduce add %p dim 1 modulo 8 : tensor<64x80xf32> -> tensor<64x8xf32>
    tile.store %stored, %out[%c0, %c0] : tensor<64x8xf32>, memref<?x?xf32>
    %q = math.exp2 %t : tensor<64x80xf32>
    %other = tile.reduce add %q dim 1 modulo 8 : tensor<64x80xf32> -> tensor<64x8xf32>
    %total = tile.reduce add %other dim 1 : tensor<64x8xf32> -> tensor<64xf32>
    tile.store %total, %lse[%c0] : tensor<64xf32>, memref<?xf32>
    %plain = tile.reduce add %x dim 1 modulo 8 : tensor<64x80xf16> -> tensor<64x8xf16>
    %plains = tile.reduce add %plain dim 1 : tensor<64x8xf16> -> tensor<64xf16>
    %wide = arith.extf %plains : tensor<64xf16> to tensor<64xf32>
    tile.store %wide, %lse[%c0] : tensor<64xf32>, memref<?xf32>
    %h = arith.truncf %p : tensor<64x80xf32> to tensor<64x80xf16>
    %o = tile.dot %h, %v, %zo lhs mk rhs kn : tensor<64x80xf16>, tensor<80x64xf16> -> tensor<64x64xf32>
    %o2 = tile.dot %x, %v, %o lhs mk rhs kn : tensor<64x80xf16>, tensor<80x64xf16> -> tensor<64x64xf32>
    tile.store %o2, %out[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }
}
