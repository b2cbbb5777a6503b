// Operands and results in an order that attention.forward does not have are
// transposed, where no view of them has such an order.
// RUN: mlir-opt %s -mlir-print-op-generic | fa3-opt -allow-unregistered-dialect -convert-to-attention 2>&1 | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

#q = affine_map<(b, h, i, j, c) -> (b, h, i, c)>
#kt = affine_map<(b, h, i, j, c) -> (b, h, c, j)>
#s = affine_map<(b, h, i, j, c) -> (b, h, i, j)>
#w = affine_map<(b, h, i, c, j) -> (b, h, i, j)>
#v = affine_map<(b, h, i, c, j) -> (b, h, j, c)>
#vs = affine_map<(b, h, i, c, j) -> (j, b, h, c)>
#o = affine_map<(b, h, i, c, j) -> (b, h, i, c)>
#ot = affine_map<(b, h, i, c, j) -> (b, h, c, i)>

// Keys by columns.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: (%[[Q:[a-z0-9]+]]: tensor<2x3x?x16xf16>, %[[K:[a-z0-9]+]]: tensor<2x3x16x?xf16>, %[[V:[a-z0-9]+]]: tensor<2x3x?x16xf16>
// CHECK: %[[N:.*]] = tensor.dim %[[K]]
// CHECK: %[[E:.*]] = tensor.empty(%[[N]]) : tensor<2x3x?x16xf16>
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[K]] : {{.*}}) outs(%[[E]] : {{.*}}) permutation = [0, 1, 3, 2]
// CHECK: %[[O:.*]] = attention.forward %[[Q]], %[[T]], %[[V]] scale 1.000000e+00 : (
// CHECK-NEXT: return %[[O]]
func.func @columns(%q: tensor<2x3x?x16xf16>, %k: tensor<2x3x16x?xf16>, %v: tensor<2x3x?x16xf16>, %e: tensor<2x3x?x?xf16>, %f: tensor<2x3x?x16xf16>) -> tensor<2x3x?x16xf16> {
  %zero = arith.constant 0.0 : f16
  %e0 = linalg.fill ins(%zero : f16) outs(%e : tensor<2x3x?x?xf16>) -> tensor<2x3x?x?xf16>
  %s = linalg.generic {indexing_maps = [#q, #kt, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<2x3x?x16xf16>, tensor<2x3x16x?xf16>) outs(%e0 : tensor<2x3x?x?xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %c, %m : f16
    linalg.yield %n : f16
  } -> tensor<2x3x?x?xf16>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x3x?x?xf16>) outs(%e : tensor<2x3x?x?xf16>) -> tensor<2x3x?x?xf16>
  %f0 = linalg.fill ins(%zero : f16) outs(%f : tensor<2x3x?x16xf16>) -> tensor<2x3x?x16xf16>
  %o = linalg.generic {indexing_maps = [#w, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%p, %v : tensor<2x3x?x?xf16>, tensor<2x3x?x16xf16>) outs(%f0 : tensor<2x3x?x16xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %c, %m : f16
    linalg.yield %n : f16
  } -> tensor<2x3x?x16xf16>
  return %o : tensor<2x3x?x16xf16>
}

// Values whose sequences come first, and a result by columns: of the two layouts
// the one with fewer transposes.
// CHECK-LABEL: func.func @result
// CHECK-SAME: (%[[Q:[a-z0-9]+]]: tensor<2x3x40x16xf16>, %[[K:[a-z0-9]+]]: tensor<2x3x16x40xf16>, %[[V:[a-z0-9]+]]: tensor<40x2x3x16xf16>)
// CHECK: %[[KT:.*]] = linalg.transpose ins(%[[K]] : {{.*}} permutation = [0, 1, 3, 2]
// CHECK: %[[VT:.*]] = linalg.transpose ins(%[[V]] : {{.*}} permutation = [1, 2, 0, 3]
// CHECK: %[[O:.*]] = attention.forward %[[Q]], %[[KT]], %[[VT]] scale 1.000000e+00 : (
// CHECK: %[[OT:.*]] = linalg.transpose ins(%[[O]] : {{.*}} permutation = [0, 1, 3, 2]
// CHECK-NEXT: return %[[OT]]
func.func @result(%q: tensor<2x3x40x16xf16>, %k: tensor<2x3x16x40xf16>, %v: tensor<40x2x3x16xf16>) -> tensor<2x3x16x40xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<2x3x40x40xf16>
  %f = tensor.empty() : tensor<2x3x16x40xf16>
  %e0 = linalg.fill ins(%zero : f16) outs(%e : tensor<2x3x40x40xf16>) -> tensor<2x3x40x40xf16>
  %s = linalg.generic {indexing_maps = [#q, #kt, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<2x3x40x16xf16>, tensor<2x3x16x40xf16>) outs(%e0 : tensor<2x3x40x40xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %c, %m : f16
    linalg.yield %n : f16
  } -> tensor<2x3x40x40xf16>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x3x40x40xf16>) outs(%e : tensor<2x3x40x40xf16>) -> tensor<2x3x40x40xf16>
  %f0 = linalg.fill ins(%zero : f16) outs(%f : tensor<2x3x16x40xf16>) -> tensor<2x3x16x40xf16>
  %o = linalg.generic {indexing_maps = [#w, #vs, #ot], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%p, %v : tensor<2x3x40x40xf16>, tensor<40x2x3x16xf16>) outs(%f0 : tensor<2x3x16x40xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %c, %m : f16
    linalg.yield %n : f16
  } -> tensor<2x3x16x40xf16>
  return %o : tensor<2x3x16x40xf16>
}
