// Rotated operands: rotations that belong to one attention go with it, one that
// two share is a function of its own.
// REQUIRES: mlir-runner
// RUN: %embedding --kernels 3
// RUN: cat %S/Inputs/prelude.mlir %s | fa3-opt -attention-outline | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NOT: attention.rotary
// CHECK: attention.call @main_attention(
// CHECK: attention.call @main_rotary(
// CHECK: attention.call @main_attention_1(
// CHECK: attention.call @main_attention_1(
// CHECK: func.func private @main_attention(
// CHECK-NEXT: attention.rotary
// CHECK-NEXT: attention.rotary
// CHECK-NEXT: attention.forward
// CHECK: func.func private @main_rotary(
// CHECK-NEXT: attention.rotary {{.*}} interleaved

!q = tensor<2x2x20x16xf16>
!table = tensor<40x8xf32>
func.func private @get(%seed: index) -> !q {
  %n = arith.constant 1280 : index
  %a = call @noise(%n, %seed) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<1280xf16>
  %q = tensor.expand_shape %b [[0, 1, 2, 3]] output_shape [2, 2, 20, 16] : tensor<1280xf16> into !q
  return %q : !q
}
func.func private @get_table(%seed: index) -> !table {
  %n = arith.constant 320 : index
  %a = call @noise(%n, %seed) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<320xf16>
  %c = tensor.expand_shape %b [[0, 1]] output_shape [40, 8] : tensor<320xf16> into tensor<40x8xf16>
  %e = tensor.empty() : !table
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<40x8xf16>) outs(%e : !table) {
  ^bb0(%x: f16, %unused: f32):
    %y = arith.extf %x : f16 to f32
    linalg.yield %y : f32
  } -> !table
  return %d : !table
}
func.func private @show(%x: !q) {
  %r = tensor.collapse_shape %x [[0, 1, 2, 3]] : !q into tensor<1280xf16>
  %s = tensor.cast %r : tensor<1280xf16> to tensor<?xf16>
  call @print(%s) : (tensor<?xf16>) -> ()
  return
}
func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %x = call @get(%c1) : (index) -> !q
  %y = call @get(%c2) : (index) -> !q
  %v = call @get(%c3) : (index) -> !q
  %cos = call @get_table(%c4) : (index) -> !table
  %sin = call @get_table(%c5) : (index) -> !table
  %first = arith.constant dense<[3, 11]> : tensor<2xi32>
  %q = attention.rotary %x, %cos, %sin at %first : !q, !table, tensor<2xi32>
  %k = attention.rotary %y, %cos, %sin at %first : !q, !table, tensor<2xi32>
  %o = attention.forward %q, %k, %v scale 0.1 mods [#attention.causal] : (!q, !q, !q) -> !q
  %u = attention.rotary %v, %cos, %sin at %first interleaved : !q, !table, tensor<2xi32>
  %p = attention.forward %u, %y, %v scale 0.1 : (!q, !q, !q) -> !q
  %r = attention.forward %x, %u, %v scale 0.1 : (!q, !q, !q) -> !q
  call @show(%o) : (!q) -> ()
  call @show(%p) : (!q) -> ()
  call @show(%r) : (!q) -> ()
  return
}
