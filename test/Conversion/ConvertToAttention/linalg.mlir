// linalg.softmax between two contractions, as MLIR prints it. fa3-opt does not
// know linalg here.
// RUN: mlir-opt %s -mlir-print-op-generic | fa3-opt -allow-unregistered-dialect -convert-to-attention 2>&1 | FileCheck %s
// Not where it is not asked for.
// RUN: mlir-opt %s -mlir-print-op-generic | fa3-opt -allow-unregistered-dialect -convert-to-attention=raise=false | FileCheck %s --check-prefix=NOT --implicit-check-not=attention.forward
// NOT: linalg.softmax
// SPDX-License-Identifier: Apache-2.0

// CHECK-COUNT-8: remark: softmax of tensor<{{.*}}> between two contractions became attention.forward, which keeps scores in f32
// CHECK: remark: 'linalg.softmax' is left as it is: its result is not only used by a contraction
// CHECK: remark: 'linalg.softmax' is left as it is: its scores are not computed of one contraction by elementwise code

#q = affine_map<(b, h, i, j, c) -> (b, h, i, c)>
#k = affine_map<(b, h, i, j, c) -> (b, h, j, c)>
#s = affine_map<(b, h, i, j, c) -> (b, h, i, j)>
#w = affine_map<(b, h, i, c, j) -> (b, h, i, j)>
#v = affine_map<(b, h, i, c, j) -> (b, h, j, c)>
#o = affine_map<(b, h, i, c, j) -> (b, h, i, c)>
#qs = affine_map<(b, h, i, j, c) -> (b, i, h, c)>
#ks = affine_map<(b, h, i, j, c) -> (b, j, h, c)>
#vs = affine_map<(b, h, i, c, j) -> (b, j, h, c)>
#os = affine_map<(b, h, i, c, j) -> (b, i, h, c)>
#id = affine_map<(b, h, i, j) -> (b, h, i, j)>
#row = affine_map<(b, h, i, j) -> (i, j)>

// CHECK-LABEL: func.func @matmuls
// CHECK-SAME: (%[[Q:.*]]: tensor<8x40x16xf16>, %[[K:.*]]: tensor<8x40x16xf16>, %[[V:.*]]: tensor<8x40x16xf16>)
// CHECK: %[[Q4:.*]] = tensor.expand_shape %[[Q]]
// CHECK: %[[O:.*]] = attention.forward %[[Q4]], %{{.*}}, %{{.*}} scale 1.000000e+00 : (tensor<8x1x40x16xf16>, tensor<8x1x40x16xf16>, tensor<8x1x40x16xf16>) -> tensor<8x1x40x16xf16>
// CHECK-NEXT: tensor.collapse_shape %[[O]]
// CHECK-NEXT: return
func.func @matmuls(%q: tensor<8x40x16xf16>, %k: tensor<8x40x16xf16>, %v: tensor<8x40x16xf16>) -> tensor<8x40x16xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<8x40x40xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<8x40x40xf16>) -> tensor<8x40x40xf16>
  %kt0 = tensor.empty() : tensor<8x16x40xf16>
  %kt = linalg.transpose ins(%k : tensor<8x40x16xf16>) outs(%kt0 : tensor<8x16x40xf16>) permutation = [0, 2, 1]
  %s = linalg.batch_matmul ins(%q, %kt : tensor<8x40x16xf16>, tensor<8x16x40xf16>) outs(%f : tensor<8x40x40xf16>) -> tensor<8x40x40xf16>
  %p = linalg.softmax dimension(2) ins(%s : tensor<8x40x40xf16>) outs(%e : tensor<8x40x40xf16>) -> tensor<8x40x40xf16>
  %oe = tensor.empty() : tensor<8x40x16xf16>
  %of = linalg.fill ins(%zero : f16) outs(%oe : tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
  %o = linalg.batch_matmul ins(%p, %v : tensor<8x40x40xf16>, tensor<8x40x16xf16>) outs(%of : tensor<8x40x16xf16>) -> tensor<8x40x16xf16>
  return %o : tensor<8x40x16xf16>
}

// CHECK-LABEL: func.func @scaled
// CHECK-NEXT: %[[O:.*]] = attention.forward %arg0, %arg1, %arg2 : (tensor<2x4x40x16xf16>
// CHECK-NEXT: return %[[O]]
func.func @scaled(%q: tensor<2x4x40x16xf16>, %k: tensor<2x4x40x16xf16>, %v: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16> {
  %zero = arith.constant 0.0 : f32
  %zero16 = arith.constant 0.0 : f16
  %scale = arith.constant 0.25 : f32
  %e = tensor.empty() : tensor<2x4x40x40xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x40x40xf32>) -> tensor<2x4x40x40xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) outs(%f : tensor<2x4x40x40xf32>) {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %m = arith.mulf %x, %y : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> tensor<2x4x40x40xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s : tensor<2x4x40x40xf32>) outs(%e : tensor<2x4x40x40xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %scale : f32
    linalg.yield %m : f32
  } -> tensor<2x4x40x40xf32>
  %p = linalg.softmax dimension(3) ins(%t : tensor<2x4x40x40xf32>) outs(%e : tensor<2x4x40x40xf32>) -> tensor<2x4x40x40xf32>
  %pe = tensor.empty() : tensor<2x4x40x40xf16>
  %p16 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%p : tensor<2x4x40x40xf32>) outs(%pe : tensor<2x4x40x40xf16>) {
  ^bb0(%a: f32, %b: f16):
    %m = arith.truncf %a : f32 to f16
    linalg.yield %m : f16
  } -> tensor<2x4x40x40xf16>
  %oe = tensor.empty() : tensor<2x4x40x16xf16>
  %of = linalg.fill ins(%zero16 : f16) outs(%oe : tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
  %o = linalg.generic {indexing_maps = [#w, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%p16, %v : tensor<2x4x40x40xf16>, tensor<2x4x40x16xf16>) outs(%of : tensor<2x4x40x16xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %m, %c : f16
    linalg.yield %n : f16
  } -> tensor<2x4x40x16xf16>
  return %o : tensor<2x4x40x16xf16>
}

// CHECK-LABEL: func.func @added_mask
// CHECK-NEXT: attention.forward %arg0, %arg1, %arg2 aux(%arg3 : tensor<40x40xf16>) scale 1.000000e+00
// CHECK-NEXT: score_mod (%[[S:.*]], %{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) {
// CHECK: tensor.extract %arg3[%[[I]], %[[J]]]
// CHECK: arith.addf
func.func @added_mask(%q: tensor<2x4x40x16xf16>, %k: tensor<2x4x40x16xf16>, %v: tensor<2x4x40x16xf16>, %mask: tensor<40x40xf16>) -> tensor<2x4x40x16xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<2x4x40x40xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) outs(%f : tensor<2x4x40x40xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %c, %m : f16
    linalg.yield %n : f16
  } -> tensor<2x4x40x40xf16>
  %t = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s, %mask : tensor<2x4x40x40xf16>, tensor<40x40xf16>) outs(%e : tensor<2x4x40x40xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %x = arith.addf %a, %b : f16
    linalg.yield %x : f16
  } -> tensor<2x4x40x40xf16>
  %p = linalg.softmax dimension(3) ins(%t : tensor<2x4x40x40xf16>) outs(%e : tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
  %oe = tensor.empty() : tensor<2x4x40x16xf16>
  %of = linalg.fill ins(%zero : f16) outs(%oe : tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
  %o = linalg.generic {indexing_maps = [#w, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%p, %v : tensor<2x4x40x40xf16>, tensor<2x4x40x16xf16>) outs(%of : tensor<2x4x40x16xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %m, %c : f16
    linalg.yield %n : f16
  } -> tensor<2x4x40x16xf16>
  return %o : tensor<2x4x40x16xf16>
}

// CHECK-LABEL: func.func @selected
// CHECK-NEXT: attention.forward %arg0, %arg1, %arg2 scale 1.000000e+00
// CHECK-NEXT: score_mod (%[[S:.*]], %{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) {
// CHECK: %[[C:.*]] = arith.cmpi sge, %[[I]], %[[J]]
// CHECK: arith.select %[[C]]
func.func @selected(%q: tensor<2x4x40x16xf16>, %k: tensor<2x4x40x16xf16>, %v: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<2x4x40x40xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) outs(%f : tensor<2x4x40x40xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %c, %m : f16
    linalg.yield %n : f16
  } -> tensor<2x4x40x40xf16>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s : tensor<2x4x40x40xf16>) outs(%e : tensor<2x4x40x40xf16>) {
  ^bb0(%a: f16, %b: f16):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %x = arith.cmpi sge, %i, %j : index
    %no = arith.constant 0xFC00 : f16
    %y = arith.select %x, %a, %no : f16
    linalg.yield %y : f16
  } -> tensor<2x4x40x40xf16>
  %p = linalg.softmax dimension(3) ins(%t : tensor<2x4x40x40xf16>) outs(%e : tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
  %oe = tensor.empty() : tensor<2x4x40x16xf16>
  %of = linalg.fill ins(%zero : f16) outs(%oe : tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
  %o = linalg.generic {indexing_maps = [#w, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%p, %v : tensor<2x4x40x40xf16>, tensor<2x4x40x16xf16>) outs(%of : tensor<2x4x40x16xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %m, %c : f16
    linalg.yield %n : f16
  } -> tensor<2x4x40x16xf16>
  return %o : tensor<2x4x40x16xf16>
}

// CHECK-LABEL: func.func @bshd
// CHECK-NEXT: attention.forward %arg0, %arg1, %arg2 scale 1.000000e+00 layout bshd
func.func @bshd(%q: tensor<2x40x4x16xf16>, %k: tensor<2x40x4x16xf16>, %v: tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<2x4x40x40xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
  %s = linalg.generic {indexing_maps = [#qs, #ks, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<2x40x4x16xf16>, tensor<2x40x4x16xf16>) outs(%f : tensor<2x4x40x40xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %c, %m : f16
    linalg.yield %n : f16
  } -> tensor<2x4x40x40xf16>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x4x40x40xf16>) outs(%e : tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
  %oe = tensor.empty() : tensor<2x40x4x16xf16>
  %of = linalg.fill ins(%zero : f16) outs(%oe : tensor<2x40x4x16xf16>) -> tensor<2x40x4x16xf16>
  %o = linalg.generic {indexing_maps = [#w, #vs, #os], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%p, %v : tensor<2x4x40x40xf16>, tensor<2x40x4x16xf16>) outs(%of : tensor<2x40x4x16xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %m, %c : f16
    linalg.yield %n : f16
  } -> tensor<2x40x4x16xf16>
  return %o : tensor<2x40x4x16xf16>
}

// CHECK-LABEL: func.func @swapped
// CHECK-NEXT: attention.forward %arg0, %arg1, %arg2 scale 1.000000e+00
func.func @swapped(%q: tensor<2x4x40x16xf16>, %k: tensor<2x4x40x16xf16>, %v: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<2x4x40x40xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
  %s = linalg.generic {indexing_maps = [#k, #q, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%k, %q : tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) outs(%f : tensor<2x4x40x40xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %c, %m : f16
    linalg.yield %n : f16
  } -> tensor<2x4x40x40xf16>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x4x40x40xf16>) outs(%e : tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
  %oe = tensor.empty() : tensor<2x4x40x16xf16>
  %of = linalg.fill ins(%zero : f16) outs(%oe : tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
  %o = linalg.generic {indexing_maps = [#w, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%p, %v : tensor<2x4x40x40xf16>, tensor<2x4x40x16xf16>) outs(%of : tensor<2x4x40x16xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %m, %c : f16
    linalg.yield %n : f16
  } -> tensor<2x4x40x16xf16>
  return %o : tensor<2x4x40x16xf16>
}

// CHECK-LABEL: func.func @grouped
// CHECK-NEXT: attention.forward %arg0, %arg1, %arg2 scale 1.000000e+00 : (tensor<2x4x40x16xf16>, tensor<2x2x40x16xf16>, tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16>
func.func @grouped(%q: tensor<2x4x40x16xf16>, %k: tensor<2x2x40x16xf16>, %v: tensor<2x2x40x16xf16>) -> tensor<2x4x40x16xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<2x4x40x40xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
  %re = tensor.empty() : tensor<2x2x2x40x16xf16>
  %kr = linalg.broadcast ins(%k : tensor<2x2x40x16xf16>) outs(%re : tensor<2x2x2x40x16xf16>) dimensions = [2]
  %vr = linalg.broadcast ins(%v : tensor<2x2x40x16xf16>) outs(%re : tensor<2x2x2x40x16xf16>) dimensions = [2]
  %kk = tensor.collapse_shape %kr [[0], [1, 2], [3], [4]] : tensor<2x2x2x40x16xf16> into tensor<2x4x40x16xf16>
  %vv = tensor.collapse_shape %vr [[0], [1, 2], [3], [4]] : tensor<2x2x2x40x16xf16> into tensor<2x4x40x16xf16>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%q, %kk : tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) outs(%f : tensor<2x4x40x40xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %c, %m : f16
    linalg.yield %n : f16
  } -> tensor<2x4x40x40xf16>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x4x40x40xf16>) outs(%e : tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
  %oe = tensor.empty() : tensor<2x4x40x16xf16>
  %of = linalg.fill ins(%zero : f16) outs(%oe : tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
  %o = linalg.generic {indexing_maps = [#w, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%p, %vv : tensor<2x4x40x40xf16>, tensor<2x4x40x16xf16>) outs(%of : tensor<2x4x40x16xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %m, %c : f16
    linalg.yield %n : f16
  } -> tensor<2x4x40x16xf16>
  return %o : tensor<2x4x40x16xf16>
}

// CHECK-LABEL: func.func @tanh
// CHECK-NEXT: attention.forward %arg0, %arg1, %arg2 scale 5.000000e-01
// CHECK: math.tanh
func.func @tanh(%q: tensor<2x4x40x16xf16>, %k: tensor<2x4x40x16xf16>, %v: tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<2x4x40x40xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) outs(%f : tensor<2x4x40x40xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %c, %m : f16
    linalg.yield %n : f16
  } -> tensor<2x4x40x40xf16>
  %t0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s : tensor<2x4x40x40xf16>) outs(%e : tensor<2x4x40x40xf16>) {
  ^bb0(%a: f16, %b: f16):
    %c = arith.constant 0.5 : f16
    %x = arith.mulf %a, %c : f16
    linalg.yield %x : f16
  } -> tensor<2x4x40x40xf16>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%t0 : tensor<2x4x40x40xf16>) outs(%e : tensor<2x4x40x40xf16>) {
  ^bb0(%a: f16, %b: f16):
    %x = math.tanh %a : f16
    linalg.yield %x : f16
  } -> tensor<2x4x40x40xf16>
  %p = linalg.softmax dimension(3) ins(%t : tensor<2x4x40x40xf16>) outs(%e : tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
  %oe = tensor.empty() : tensor<2x4x40x16xf16>
  %of = linalg.fill ins(%zero : f16) outs(%oe : tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
  %o = linalg.generic {indexing_maps = [#w, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%p, %v : tensor<2x4x40x40xf16>, tensor<2x4x40x16xf16>) outs(%of : tensor<2x4x40x16xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %m, %c : f16
    linalg.yield %n : f16
  } -> tensor<2x4x40x16xf16>
  return %o : tensor<2x4x40x16xf16>
}

// CHECK-LABEL: func.func @returned
// CHECK-NOT: attention.forward
// CHECK: linalg.softmax
func.func @returned(%q: tensor<2x4x40x16xf16>, %k: tensor<2x4x40x16xf16>, %v: tensor<2x4x40x16xf16>) -> (tensor<2x4x40x40xf16>, tensor<2x4x40x16xf16>) {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<2x4x40x40xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) outs(%f : tensor<2x4x40x40xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %c, %m : f16
    linalg.yield %n : f16
  } -> tensor<2x4x40x40xf16>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x4x40x40xf16>) outs(%e : tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
  %oe = tensor.empty() : tensor<2x4x40x16xf16>
  %of = linalg.fill ins(%zero : f16) outs(%oe : tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
  %o = linalg.generic {indexing_maps = [#w, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%p, %v : tensor<2x4x40x40xf16>, tensor<2x4x40x16xf16>) outs(%of : tensor<2x4x40x16xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %m, %c : f16
    linalg.yield %n : f16
  } -> tensor<2x4x40x16xf16>
  return %p, %o : tensor<2x4x40x40xf16>, tensor<2x4x40x16xf16>
}

// CHECK-LABEL: func.func @other
// CHECK-NOT: attention.forward
// CHECK: linalg.softmax
func.func @other(%q: tensor<2x4x40x16xf16>, %k: tensor<2x4x40x16xf16>, %v: tensor<2x4x40x16xf16>, %x: tensor<2x4x40x40xf16>) -> tensor<2x4x40x16xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<2x4x40x40xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
  %unused = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<2x4x40x16xf16>, tensor<2x4x40x16xf16>) outs(%f : tensor<2x4x40x40xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %c, %m : f16
    linalg.yield %n : f16
  } -> tensor<2x4x40x40xf16>
  %p = linalg.softmax dimension(3) ins(%x : tensor<2x4x40x40xf16>) outs(%e : tensor<2x4x40x40xf16>) -> tensor<2x4x40x40xf16>
  %oe = tensor.empty() : tensor<2x4x40x16xf16>
  %of = linalg.fill ins(%zero : f16) outs(%oe : tensor<2x4x40x16xf16>) -> tensor<2x4x40x16xf16>
  %o = linalg.generic {indexing_maps = [#w, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%p, %v : tensor<2x4x40x40xf16>, tensor<2x4x40x16xf16>) outs(%of : tensor<2x4x40x16xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %m = arith.mulf %a, %b : f16
    %n = arith.addf %m, %c : f16
    linalg.yield %n : f16
  } -> tensor<2x4x40x16xf16>
  return %o : tensor<2x4x40x16xf16>
}
