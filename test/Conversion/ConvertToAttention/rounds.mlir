// Changes of the type between the steps of an attention that is written out: what
// they drop, and where they put the numbers. Torch's names on builtin tensors are
// for brevity.
// RUN: fa3-opt %s -split-input-file -allow-unregistered-dialect -convert-to-attention -verify-diagnostics | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

#id = affine_map<(b, h, i, c) -> (b, h, i, c)>
#moved = affine_map<(b, h, i, c) -> (b, i, h, c)>
#one = affine_map<(b, h, i, c) -> (b, h, i, 0)>

// What rounds the result moves the heads behind the rows.
// CHECK-LABEL: func.func @transposed
// CHECK: %[[O:.*]] = attention.forward %arg0, %arg1, %arg2 scale 1.000000e+00 layout bshd
// CHECK-NEXT: return %[[O]]
func.func @transposed(%q: tensor<2x8x8x16xf16>, %k: tensor<2x8x8x16xf16>, %v: tensor<2x8x8x16xf16>) -> tensor<2x8x8x16xf16> {
  %last = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
  %qt = "stablehlo.transpose"(%q) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x8x8x16xf16>) -> tensor<2x8x8x16xf16>
  %kt = "stablehlo.transpose"(%k) <{permutation = array<i64: 0, 2, 3, 1>}> : (tensor<2x8x8x16xf16>) -> tensor<2x8x16x8xf16>
  %vt = "stablehlo.transpose"(%v) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x8x8x16xf16>) -> tensor<2x8x8x16xf16>
  %s = "torch.aten.matmul"(%qt, %kt) : (tensor<2x8x8x16xf16>, tensor<2x8x16x8xf16>) -> tensor<2x8x8x8xf32>
  // expected-remark @below {{became attention.forward}}
  %p = "torch.aten.softmax.int"(%s, %last) : (tensor<2x8x8x8xf32>, !torch.int) -> tensor<2x8x8x8xf32>
  %o = "torch.aten.matmul"(%p, %vt) : (tensor<2x8x8x8xf32>, tensor<2x8x8x16xf16>) -> tensor<2x8x8x16xf32>
  %e = tensor.empty() : tensor<2x8x8x16xf16>
  %r = "linalg.generic"(%o, %e) <{indexing_maps = [#moved, #id], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%a: f32, %b: f16):
    %x = arith.truncf %a : f32 to f16
    "linalg.yield"(%x) : (f16) -> ()
  }) : (tensor<2x8x8x16xf32>, tensor<2x8x8x16xf16>) -> tensor<2x8x8x16xf16>
  return %r : tensor<2x8x8x16xf16>
}

// What rounds repeats the first element of each row.
// CHECK-LABEL: func.func @repeated
// CHECK: torch.aten.softmax.int
func.func @repeated(%q: tensor<2x8x8x16xf16>, %k: tensor<2x8x8x16xf16>, %v: tensor<2x8x8x16xf16>) -> tensor<2x8x8x16xf16> {
  %last = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
  %kt = "stablehlo.transpose"(%k) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<2x8x8x16xf16>) -> tensor<2x8x16x8xf16>
  %s = "torch.aten.matmul"(%q, %kt) : (tensor<2x8x8x16xf16>, tensor<2x8x16x8xf16>) -> tensor<2x8x8x8xf32>
  %p = "torch.aten.softmax.int"(%s, %last) : (tensor<2x8x8x8xf32>, !torch.int) -> tensor<2x8x8x8xf32>
  // expected-remark @below {{expects a result of the element type of q (f16), got f32}}
  %o = "torch.aten.matmul"(%p, %v) : (tensor<2x8x8x8xf32>, tensor<2x8x8x16xf16>) -> tensor<2x8x8x16xf32>
  %e = tensor.empty() : tensor<2x8x8x16xf16>
  %r = "linalg.generic"(%o, %e) <{indexing_maps = [#one, #id], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%a: f32, %b: f16):
    %x = arith.truncf %a : f32 to f16
    "linalg.yield"(%x) : (f16) -> ()
  }) : (tensor<2x8x8x16xf32>, tensor<2x8x8x16xf16>) -> tensor<2x8x8x16xf16>
  return %r : tensor<2x8x8x16xf16>
}

// What rounds reads another tensor.
// CHECK-LABEL: func.func @another
// CHECK: torch.aten.softmax.int
func.func @another(%q: tensor<2x8x8x16xf16>, %k: tensor<2x8x8x16xf16>, %v: tensor<2x8x8x16xf16>, %w: tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf16> {
  %last = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
  %kt = "stablehlo.transpose"(%k) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<2x8x8x16xf16>) -> tensor<2x8x16x8xf16>
  %s = "torch.aten.matmul"(%q, %kt) : (tensor<2x8x8x16xf16>, tensor<2x8x16x8xf16>) -> tensor<2x8x8x8xf32>
  %p = "torch.aten.softmax.int"(%s, %last) : (tensor<2x8x8x8xf32>, !torch.int) -> tensor<2x8x8x8xf32>
  // expected-remark @below {{expects a result of the element type of q (f16), got f32}}
  %o = "torch.aten.matmul"(%p, %v) : (tensor<2x8x8x8xf32>, tensor<2x8x8x16xf16>) -> tensor<2x8x8x16xf32>
  %e = tensor.empty() : tensor<2x8x8x16xf16>
  %r = "linalg.generic"(%o, %w, %e) <{indexing_maps = [#id, #id, #id], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 2, 1>}> ({
  ^bb0(%a: f32, %c: f32, %b: f16):
    %x = arith.truncf %c : f32 to f16
    "linalg.yield"(%x) : (f16) -> ()
  }) : (tensor<2x8x8x16xf32>, tensor<2x8x8x16xf32>, tensor<2x8x8x16xf16>) -> tensor<2x8x8x16xf16>
  return %r : tensor<2x8x8x16xf16>
}

// -----

// Weights of 8 bits are other weights.
// CHECK-LABEL: func.func @weights8
// CHECK: torch.aten.softmax.int
func.func @weights8(%q: tensor<2x4x8x16xf16>, %kt: tensor<2x4x16x8xf16>, %v: tensor<2x4x8x16xf16>) -> tensor<2x4x8x16xf16> {
  %last = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
  %s = "torch.aten.matmul"(%q, %kt) : (tensor<2x4x8x16xf16>, tensor<2x4x16x8xf16>) -> tensor<2x4x8x8xf16>
  // expected-remark @below {{its result is used by 'stablehlo.convert', which is no contraction}}
  %p = "torch.aten.softmax.int"(%s, %last) : (tensor<2x4x8x8xf16>, !torch.int) -> tensor<2x4x8x8xf16>
  %p8 = "stablehlo.convert"(%p) : (tensor<2x4x8x8xf16>) -> tensor<2x4x8x8xf8E4M3FN>
  %p16 = "stablehlo.convert"(%p8) : (tensor<2x4x8x8xf8E4M3FN>) -> tensor<2x4x8x8xf16>
  %o = "torch.aten.matmul"(%p16, %v) : (tensor<2x4x8x8xf16>, tensor<2x4x8x16xf16>) -> tensor<2x4x8x16xf16>
  return %o : tensor<2x4x8x16xf16>
}

// So are scores.
// CHECK-LABEL: func.func @scores8
// CHECK: torch.aten.softmax.int
func.func @scores8(%q: tensor<2x4x8x16xf16>, %kt: tensor<2x4x16x8xf16>, %v: tensor<2x4x8x16xf16>) -> tensor<2x4x8x16xf16> {
  %last = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
  %s = "torch.aten.matmul"(%q, %kt) : (tensor<2x4x8x16xf16>, tensor<2x4x16x8xf16>) -> tensor<2x4x8x8xf16>
  %s8 = "stablehlo.convert"(%s) : (tensor<2x4x8x8xf16>) -> tensor<2x4x8x8xf8E5M2>
  %s16 = "stablehlo.convert"(%s8) : (tensor<2x4x8x8xf8E5M2>) -> tensor<2x4x8x8xf16>
  // expected-remark @below {{its scores are not computed of one contraction by elementwise code}}
  %p = "torch.aten.softmax.int"(%s16, %last) : (tensor<2x4x8x8xf16>, !torch.int) -> tensor<2x4x8x8xf16>
  %o = "torch.aten.matmul"(%p, %v) : (tensor<2x4x8x8xf16>, tensor<2x4x8x16xf16>) -> tensor<2x4x8x16xf16>
  return %o : tensor<2x4x8x16xf16>
}

// bf16 has numbers that f16 has not.
// CHECK-LABEL: func.func @brain
// CHECK: attention.forward
// CHECK-SAME: (tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>) -> tensor<2x4x8x16xf16>
func.func @brain(%q: tensor<2x4x8x16xbf16>, %k: tensor<2x4x8x16xbf16>, %v: tensor<2x4x8x16xbf16>) -> tensor<2x4x8x16xf16> {
  %last = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
  %q16 = "stablehlo.convert"(%q) : (tensor<2x4x8x16xbf16>) -> tensor<2x4x8x16xf16>
  %k16 = "stablehlo.convert"(%k) : (tensor<2x4x8x16xbf16>) -> tensor<2x4x8x16xf16>
  %v16 = "stablehlo.convert"(%v) : (tensor<2x4x8x16xbf16>) -> tensor<2x4x8x16xf16>
  %kt = "stablehlo.transpose"(%k16) <{permutation = array<i64: 0, 1, 3, 2>}> : (tensor<2x4x8x16xf16>) -> tensor<2x4x16x8xf16>
  %s = "torch.aten.matmul"(%q16, %kt) : (tensor<2x4x8x16xf16>, tensor<2x4x16x8xf16>) -> tensor<2x4x8x8xf16>
  // expected-remark @below {{became attention.forward}}
  %p = "torch.aten.softmax.int"(%s, %last) : (tensor<2x4x8x8xf16>, !torch.int) -> tensor<2x4x8x8xf16>
  %o = "torch.aten.matmul"(%p, %v16) : (tensor<2x4x8x8xf16>, tensor<2x4x8x16xf16>) -> tensor<2x4x8x16xf16>
  return %o : tensor<2x4x8x16xf16>
}

// -----

// Positions of the type index; a list that has not the shape of the result.
// CHECK-LABEL: func.func @positions
// CHECK: attention.forward %arg0, %arg1, %arg2 aux(%{{.*}}, %{{.*}} : tensor<8xi64>, tensor<8x1xi64>)
func.func @positions(%q: tensor<2x4x8x16xf16>, %k: tensor<2x4x8x16xf16>, %v: tensor<2x4x8x16xf16>) -> (tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>) {
  %none = "torch.constant.none"() : () -> !torch.none
  %zero = "torch.constant.float"() <{value = 0.0 : f64}> : () -> !torch.float
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  %i = "stablehlo.constant"() <{value = dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi64>}> : () -> tensor<8x1xi64>
  %short = "stablehlo.constant"() <{value = dense<[0, 1, 2, 3]> : tensor<4xi64>}> : () -> tensor<8xi64>
  %m = "stablehlo.compare"(%short, %i) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<8xi64>, tensor<8x1xi64>) -> tensor<8x8xi1>
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %m, %zero, %no, %none, %no) : (tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>, tensor<8x8xi1>, !torch.float, !torch.bool, !torch.none, !torch.bool) -> tensor<2x4x8x16xf16>
  %x = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xindex>
  %n = "stablehlo.compare"(%x, %x) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<8xindex>, tensor<8xindex>) -> tensor<8xi1>
  %r = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %n, %zero, %no, %none, %no) : (tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>, tensor<8xi1>, !torch.float, !torch.bool, !torch.none, !torch.bool) -> tensor<2x4x8x16xf16>
  return %o, %r : tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>
}

// -----

// SDPA broadcasts one key head.
// CHECK-LABEL: func.func @one_head
// CHECK: attention.forward %arg0, %arg1, %arg2 : (tensor<2x4x8x16xf16>, tensor<2x1x8x16xf16>, tensor<2x1x8x16xf16>)
func.func @one_head(%q: tensor<2x4x8x16xf16>, %k: tensor<2x1x8x16xf16>, %v: tensor<2x1x8x16xf16>) -> tensor<2x4x8x16xf16> {
  %none = "torch.constant.none"() : () -> !torch.none
  %zero = "torch.constant.float"() <{value = 0.0 : f64}> : () -> !torch.float
  %no = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %zero, %no, %none, %no) : (tensor<2x4x8x16xf16>, tensor<2x1x8x16xf16>, tensor<2x1x8x16xf16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> tensor<2x4x8x16xf16>
  return %o : tensor<2x4x8x16xf16>
}

// -----

// TOSA's shifts and zero points change the numbers.
// CHECK-LABEL: func.func @shifted
// CHECK-COUNT-3: torch.aten.softmax.int
func.func @shifted(%q: tensor<2x4x8x16xf16>, %kt: tensor<2x4x16x8xf16>, %v: tensor<2x4x8x16xf16>, %point: tensor<1xf16>) -> (tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>) {
  %last = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
  %half = "tosa.const"() <{values = dense<0.5> : tensor<1x1x1x1xf16>}> : () -> tensor<1x1x1x1xf16>
  %shift = "tosa.const"() <{values = dense<1> : tensor<1xi8>}> : () -> tensor<1xi8>
  %zero = "tosa.const"() <{values = dense<0.0> : tensor<1xf16>}> : () -> tensor<1xf16>
  %one = "tosa.const"() <{values = dense<1.0> : tensor<1xf16>}> : () -> tensor<1xf16>
  %s = "torch.aten.matmul"(%q, %kt) : (tensor<2x4x8x16xf16>, tensor<2x4x16x8xf16>) -> tensor<2x4x8x8xf16>
  %a = "tosa.mul"(%s, %half, %shift) : (tensor<2x4x8x8xf16>, tensor<1x1x1x1xf16>, tensor<1xi8>) -> tensor<2x4x8x8xf16>
  // expected-remark @below {{its scores are not computed of one contraction by elementwise code}}
  %pa = "torch.aten.softmax.int"(%a, %last) : (tensor<2x4x8x8xf16>, !torch.int) -> tensor<2x4x8x8xf16>
  %oa = "torch.aten.matmul"(%pa, %v) : (tensor<2x4x8x8xf16>, tensor<2x4x8x16xf16>) -> tensor<2x4x8x16xf16>
  %b = "tosa.negate"(%s, %zero, %one) : (tensor<2x4x8x8xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<2x4x8x8xf16>
  // expected-remark @below {{its scores are not computed of one contraction by elementwise code}}
  %pb = "torch.aten.softmax.int"(%b, %last) : (tensor<2x4x8x8xf16>, !torch.int) -> tensor<2x4x8x8xf16>
  %ob = "torch.aten.matmul"(%pb, %v) : (tensor<2x4x8x8xf16>, tensor<2x4x8x16xf16>) -> tensor<2x4x8x16xf16>
  %c = "tosa.negate"(%s, %point, %zero) : (tensor<2x4x8x8xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<2x4x8x8xf16>
  // expected-remark @below {{its scores are not computed of one contraction by elementwise code}}
  %pc = "torch.aten.softmax.int"(%c, %last) : (tensor<2x4x8x8xf16>, !torch.int) -> tensor<2x4x8x8xf16>
  %oc = "torch.aten.matmul"(%pc, %v) : (tensor<2x4x8x8xf16>, tensor<2x4x8x16xf16>) -> tensor<2x4x8x16xf16>
  return %oa, %ob, %oc : tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>
}
