// Kernels of attention.quantize, and what lies between them in memory. What
// they compute is tested in test/Pipelines/quantize.mlir.
//
// RUN: fa3-opt %s -attention-to-tile -canonicalize -cse | FileCheck %s

// Blocks of rows, rotated by signs: the matrix, partial maxima, scales, values,
// then the attention.
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.dims = ["b", "h", "sq", "d"], tile.name = "q"}
// CHECK-SAME: %[[SIGNS:[a-z0-9]+]]: memref<64xf16, strided<[1]>> {tile.dims = ["d"], tile.name = "signs"}
// CHECK-SAME: tile.name = "o"
// CHECK: %[[QA:.*]] = memref.alloc(%{{.*}}, %{{.*}}, %{{.*}}) {tile.name = "q8"} : memref<?x?x?x64xf8E4M3FN>
// CHECK: %[[Q8:.*]] = memref.cast %[[QA]]
// CHECK: memref.alloc(%{{.*}}) {tile.name = "q_scale"} : memref<?x?x?xf32>
// CHECK: %[[R:.*]] = memref.alloc() {tile.name = "rotation"} : memref<64x64xf16>
// CHECK-NOT: tile.name = "rotation"
// CHECK: tile.launch @forward_kernels::@forward_q_rotation args(%[[SIGNS]], %[[R]]
// CHECK: %[[MAXIMA:.*]] = memref.alloc({{.*}}) {tile.name = "q_maxima"} : memref<?x?x?x128xf32>
// CHECK: tile.launch @forward_kernels::@forward_q_maxima args(%[[Q]], %[[MAXIMA]], %[[R]]
// CHECK: tile.launch @forward_kernels::@forward_q_scales args(%[[MAXIMA]], %[[QS:[a-z0-9_]+]]
// CHECK: tile.launch @forward_kernels::@forward_q_quantize args(%[[Q]], %[[Q8]], %[[QS]], %[[R]]
// CHECK: tile.launch @forward_kernels::@forward_k_maxima args(%{{.*}}, %{{.*}}, %[[R]]
// CHECK: tile.launch @forward_kernels::@forward_v_maxima args(%{{[a-z0-9]+}}, %{{[a-z0-9_]+}} :
// CHECK: tile.launch @forward_kernels::@forward args(%[[Q8]],
func.func @forward(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>, %signs: tensor<64xf16>) -> tensor<?x?x?x64xf16> {
  %q8, %qs = attention.quantize %q rotate %signs : tensor<64xf16> rows 128 : tensor<?x?x?x64xf16> -> tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?xf32>
  %k8, %ks = attention.quantize %k rotate %signs : tensor<64xf16> rows 128 : tensor<?x?x?x64xf16> -> tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?xf32>
  %v8, %vs = attention.quantize %v rows 128 : tensor<?x?x?x64xf16> -> tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?xf32>
  %o = attention.forward %q8, %k8, %v8 scales(%qs, %ks, %vs : tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?xf32>) rows [128, 128, 128]
    : (tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x64xf8E4M3FN>) -> tensor<?x?x?x64xf16>
  return %o : tensor<?x?x?x64xf16>
}

// CHECK-LABEL: gpu.func @forward_q_maxima(
// CHECK: tile.grid
// CHECK: scf.for {{.*}} iter_args(%[[LARGEST:.*]] = %{{.*}}) -> (tensor<128xf32>)
// CHECK: %[[X:.*]] = tile.load {{.*}} -> tensor<128x64xf16>
// CHECK: %[[M:.*]] = tile.load {{.*}} -> tensor<64x64xf16>
// CHECK: tile.dot %[[X]], %[[M]], %{{.*}} lhs mk rhs kn
// CHECK: %[[A:.*]] = math.absf
// CHECK: tile.reduce max %[[A]] init %[[LARGEST]] dim 1
// CHECK: tile.store {{.*}} : tensor<128xf32>, memref<?x?x?x128xf32>
// CHECK-LABEL: gpu.func @forward_q_scales(
// CHECK: tile.load {{.*}} -> tensor<64x128xf32>
// CHECK: tile.reduce max
// CHECK: arith.mulf
// CHECK: arith.maxnumf
// CHECK-LABEL: gpu.func @forward_q_quantize(
// CHECK: %[[S:.*]] = tile.scalar_load
// CHECK: %[[I:.*]] = arith.divf %{{.*}}, %[[S]] : f32
// CHECK: tile.dot
// CHECK: %[[W:.*]] = tensor.splat %[[I]]
// CHECK: arith.mulf {{.*}}, %[[W]]
// CHECK: arith.truncf {{.*}} : tensor<128x64xf32> to tensor<128x64xf8E4M3FN>

// A function that only quantizes gives its results; a scale of a row is known
// where the row is. Wide rows are taken in parts.
// CHECK-LABEL: func.func @tokens(
// CHECK-SAME: {tile.dims = ["b", "s", "h", "d"], tile.name = "x"}
// CHECK-SAME: memref<?x?x4x256xf8E5M2, strided<[?, ?, ?, 1]>> {tile.dims = ["b", "s", "h", "d"], tile.name = "x8"}
// CHECK-SAME: memref<?x4x?xf32, strided<[?, ?, 1]>> {tile.name = "x_scale"}
// CHECK-NOT: memref.alloc
// CHECK: %[[X:.*]] = memref.transpose
// CHECK: cf.assert %{{.*}}, "x8 has another extent in dimension 0 than x asks for"
// CHECK: cf.assert %{{.*}}, "x_scale has another extent in dimension 2 than x asks for"
// CHECK: tile.launch @tokens_kernels::@tokens_x_quantize args(%[[X]],
// CHECK-NOT: tile.launch
// CHECK: gpu.func @tokens_x_quantize(
// CHECK-COUNT-2: tile.reduce max
// CHECK-COUNT-2: tile.store {{.*}} : tensor<64x128xf8E5M2>
// CHECK: tile.store {{.*}} : tensor<64xf32>
func.func @tokens(%x: tensor<?x?x4x256xbf16>) -> (tensor<?x?x4x256xf8E5M2>, tensor<?x4x?xf32>) {
  %y, %s = attention.quantize %x rows 1 layout bshd : tensor<?x?x4x256xbf16> -> tensor<?x?x4x256xf8E5M2>, tensor<?x4x?xf32>
  return %y, %s : tensor<?x?x4x256xf8E5M2>, tensor<?x4x?xf32>
}

// The second term is what rounding has left, behind the columns of the first.
// The attention adds up two products with the same keys.
// CHECK-LABEL: func.func @terms(
// CHECK: memref.alloc({{.*}}) {tile.name = "q8"} : memref<?x?x?x128xf8E4M3FN>
// CHECK-LABEL: gpu.func @terms_q_quantize(
// CHECK: %[[SCALED:.*]] = arith.mulf
// CHECK: %[[FIRST:.*]] = arith.truncf %[[SCALED]] : tensor<64x64xf32> to tensor<64x64xf8E4M3FN>
// CHECK: tile.store %[[FIRST]], %{{.*}}[%{{.*}}, %c0]
// CHECK: %[[WIDE:.*]] = arith.extf %[[FIRST]]
// CHECK: %[[LEFT:.*]] = arith.subf %[[SCALED]], %[[WIDE]]
// CHECK: %[[SECOND:.*]] = arith.truncf %[[LEFT]]
// CHECK: tile.store %[[SECOND]], %{{.*}}[%{{.*}}, %c64]
// CHECK-LABEL: gpu.func @terms(
// CHECK: %[[Q1:.*]] = tile.load %{{.*}}[{{.*}}, %c0] : {{.*}} -> tensor<[[M:[0-9]+]]x64xf8E4M3FN>
// CHECK: %[[Q2:.*]] = tile.load %{{.*}}[{{.*}}, %c64] : {{.*}} -> tensor<[[M]]x64xf8E4M3FN>
// CHECK: %[[K:.*]] = tile.load
// CHECK: %[[PART:.*]] = tile.dot %[[Q1]], %[[K]], %{{.*}} lhs mk rhs nk
// CHECK: tile.dot %[[Q2]], %[[K]], %[[PART]] lhs mk rhs nk
func.func @terms(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf8E4M3FN>, %s: tensor<1x1x1xf32>) -> tensor<?x?x?x64xf16> {
  %q8, %qs = attention.quantize %q terms 2 : tensor<?x?x?x64xf16> -> tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x1xf32>
  %o = attention.forward %q8, %k, %k scales(%qs, %s, %s : tensor<?x?x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) q_terms 2
    : (tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x64xf8E4M3FN>) -> tensor<?x?x?x64xf16>
  return %o : tensor<?x?x?x64xf16>
}

// One scale: partial maxima are columns, which all rows of one tile reduce.
// CHECK-LABEL: func.func @tensor(
// CHECK: memref.alloc({{.*}}) {tile.name = "x_maxima"} : memref<1x1x1x?xf32>
// CHECK-LABEL: gpu.func @tensor_x_scales(
// CHECK: tile.load {{.*}} -> tensor<256xf32>
// CHECK: tile.broadcast %{{.*}} dim 0 : tensor<256xf32> -> tensor<64x256xf32>
// CHECK: tile.store {{.*}} : tensor<64xf32>, memref<1x1x1xf32
func.func @tensor(%x: tensor<?x?x?x64xf32>) -> (tensor<?x?x?x64xf8E4M3FN>, tensor<1x1x1xf32>) {
  %y, %s = attention.quantize %x : tensor<?x?x?x64xf32> -> tensor<?x?x?x64xf8E4M3FN>, tensor<1x1x1xf32>
  return %y, %s : tensor<?x?x?x64xf8E4M3FN>, tensor<1x1x1xf32>
}

// One source in two formats: names differ.
// CHECK-LABEL: func.func @twice(
// CHECK-SAME: tile.name = "x0"}
// CHECK-SAME: tile.name = "x08"}
// CHECK-SAME: tile.name = "x0_scale"}
// CHECK-SAME: tile.name = "x0_18"}
// CHECK-SAME: tile.name = "x0_1_scale"}
// CHECK: tile.launch @twice_kernels::@twice_x0_quantize
// CHECK: tile.launch @twice_kernels::@twice_x0_1_quantize
func.func @twice(%x: tensor<2x2x?x64xf16>) -> (tensor<2x2x?x64xf8E4M3FN>, tensor<2x2x?xf32>, tensor<2x2x?x64xf8E5M2>, tensor<2x2x?xf32>) {
  %y, %s = attention.quantize %x rows 1 : tensor<2x2x?x64xf16> -> tensor<2x2x?x64xf8E4M3FN>, tensor<2x2x?xf32>
  %z, %t = attention.quantize %x rows 1 : tensor<2x2x?x64xf16> -> tensor<2x2x?x64xf8E5M2>, tensor<2x2x?xf32>
  return %y, %s, %z, %t : tensor<2x2x?x64xf8E4M3FN>, tensor<2x2x?xf32>, tensor<2x2x?x64xf8E5M2>, tensor<2x2x?xf32>
}

// Extents of scales that are fixed bind those of the source, unless all share.
// CHECK-LABEL: func.func @fixed(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x?x?x64xf16,
// CHECK: %[[HEADS:.*]] = memref.dim %[[X]], %c1
// CHECK: %[[FITS:.*]] = arith.cmpi eq, %[[HEADS]], %c4
// CHECK-NEXT: cf.assert %[[FITS]], "x has another extent than its scales, 4 in dimension 1"
// CHECK: cf.assert %{{.*}}, "x has another extent than its scales, 2 in dimension 2"
// CHECK-NOT: another extent than its scales
// CHECK: return
func.func @fixed(%x: tensor<?x?x?x64xf16>) -> (tensor<?x?x?x64xf8E4M3FN>, tensor<1x4x2xf32>) {
  %y, %s = attention.quantize %x rows 64 : tensor<?x?x?x64xf16> -> tensor<?x?x?x64xf8E4M3FN>, tensor<1x4x2xf32>
  return %y, %s : tensor<?x?x?x64xf8E4M3FN>, tensor<1x4x2xf32>
}
