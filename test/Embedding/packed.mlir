// Slices of packed q, k and v, transposed on the way in and out, and a bias by
// linalg on what comes out as (b, s, h * d). Nothing is moved.
// REQUIRES: mlir-runner
// RUN: %embedding --kernels 1
// RUN: cat %S/Inputs/prelude.mlir %s | fa3-opt -attention-outline | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NOT: linalg.transpose
// CHECK: attention.call @main_attention({{.*}}) outs({{.*}}) views {{\[}}[0, 2, 1, 3], [0, 2, 1, 3], [0, 2, 1, 3], [0, 2, 1, 3]] -> tensor<2x20x2x16xf16>
// CHECK-NOT: linalg.transpose

!qkv = tensor<2x20x3x2x16xf16>
!bshd = tensor<2x20x2x16xf16>
!bhsd = tensor<2x2x20x16xf16>
!row = tensor<2x20x32xf16>
func.func @main() {
  %n = arith.constant 3840 : index
  %m = arith.constant 32 : index
  %c5 = arith.constant 5 : index
  %c9 = arith.constant 9 : index
  %a = call @noise(%n, %c5) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<3840xf16>
  %x = tensor.expand_shape %b [[0, 1, 2, 3, 4]] output_shape [2, 20, 3, 2, 16] : tensor<3840xf16> into !qkv
  %e = tensor.empty() : tensor<3x2x2x20x16xf16>
  // k and v out of a transposition of all.
  %t = linalg.transpose ins(%x : !qkv) outs(%e : tensor<3x2x2x20x16xf16>) permutation = [2, 0, 3, 1, 4]
  %k = tensor.extract_slice %t[1, 0, 0, 0, 0] [1, 2, 2, 20, 16] [1, 1, 1, 1, 1] : tensor<3x2x2x20x16xf16> to !bhsd
  %v = tensor.extract_slice %t[2, 0, 0, 0, 0] [1, 2, 2, 20, 16] [1, 1, 1, 1, 1] : tensor<3x2x2x20x16xf16> to !bhsd
  %q0 = tensor.extract_slice %x[0, 0, 0, 0, 0] [2, 20, 1, 2, 16] [1, 1, 1, 1, 1] : !qkv to !bshd
  %e1 = tensor.empty() : !bhsd
  %q = linalg.generic {indexing_maps = [affine_map<(b, h, s, d) -> (b, s, h, d)>, affine_map<(b, h, s, d) -> (b, h, s, d)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%q0 : !bshd) outs(%e1 : !bhsd) {
  ^bb0(%in: f16, %out: f16):
    linalg.yield %in : f16
  } -> !bhsd
  %o = attention.forward %q, %k, %v mods [#attention.causal] : (!bhsd, !bhsd, !bhsd) -> !bhsd
  %e2 = tensor.empty() : !bshd
  %o0 = linalg.transpose ins(%o : !bhsd) outs(%e2 : !bshd) permutation = [0, 2, 1, 3]
  %o1 = tensor.collapse_shape %o0 [[0], [1], [2, 3]] : !bshd into !row
  %c = call @noise(%m, %c9) : (index, index) -> tensor<?xf16>
  %bias = tensor.cast %c : tensor<?xf16> to tensor<32xf16>
  %e3 = tensor.empty() : !row
  %y = linalg.generic {indexing_maps = [affine_map<(b, s, d) -> (b, s, d)>, affine_map<(b, s, d) -> (d)>, affine_map<(b, s, d) -> (b, s, d)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%o1, %bias : !row, tensor<32xf16>) outs(%e3 : !row) {
  ^bb0(%in: f16, %more: f16, %out: f16):
    %sum = arith.addf %in, %more : f16
    linalg.yield %sum : f16
  } -> !row
  %r = tensor.collapse_shape %y [[0, 1, 2]] : !row into tensor<1280xf16>
  %s = tensor.cast %r : tensor<1280xf16> to tensor<?xf16>
  call @print(%s) : (tensor<?xf16>) -> ()
  return
}
