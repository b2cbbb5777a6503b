// Operands in 8 bits: a quantization that belongs to one attention goes with it,
// one that two share is a function of its own; beside them attention in 16 bits.
// REQUIRES: mlir-runner
// RUN: %embedding --kernels 4
// RUN: cat %S/Inputs/prelude.mlir %s | fa3-opt -attention-outline | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: attention.call @main_quantize(
// CHECK: attention.call @main_attention(
// CHECK: attention.call @main_attention_1(
// CHECK: attention.call @main_attention_2(

!q = tensor<2x2x20x32xf16>
!q8 = tensor<2x2x20x32xf8E4M3FN>
!scale = tensor<2x2x1xf32>
func.func private @get(%seed: index) -> !q {
  %n = arith.constant 2560 : index
  %a = call @noise(%n, %seed) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<2560xf16>
  %q = tensor.expand_shape %b [[0, 1, 2, 3]] output_shape [2, 2, 20, 32] : tensor<2560xf16> into !q
  return %q : !q
}
func.func private @show(%x: !q) {
  %r = tensor.collapse_shape %x [[0, 1, 2, 3]] : !q into tensor<2560xf16>
  %s = tensor.cast %r : tensor<2560xf16> to tensor<?xf16>
  call @print(%s) : (tensor<?xf16>) -> ()
  return
}
func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %q = call @get(%c1) : (index) -> !q
  %k = call @get(%c2) : (index) -> !q
  %v = call @get(%c3) : (index) -> !q
  %v8, %vs = attention.quantize %v : !q -> !q8, !scale
  %q8, %qs = attention.quantize %q : !q -> !q8, !scale
  %k8, %ks = attention.quantize %k : !q -> !q8, !scale
  %o = attention.forward %q8, %k8, %v8 scales(%qs, %ks, %vs : !scale, !scale, !scale) : (!q8, !q8, !q8) -> !q
  %r8, %rs = attention.quantize %k : !q -> !q8, !scale
  %p8, %ps = attention.quantize %q : !q -> !q8, !scale
  %p = attention.forward %r8, %p8, %v8 scales(%rs, %ps, %vs : !scale, !scale, !scale) mods [#attention.causal] : (!q8, !q8, !q8) -> !q
  %s = attention.forward %o, %p, %v mods [#attention.causal] : (!q, !q, !q) -> !q
  call @show(%o) : (!q) -> ()
  call @show(%p) : (!q) -> ()
  call @show(%s) : (!q) -> ()
  return
}
