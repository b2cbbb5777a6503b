// Gradients that attention-differentiate has made of a function, called by the
// rest of a program.
// REQUIRES: mlir-runner
// RUN: split-file %s %t
// RUN: fa3-opt %t/forward.mlir -attention-differentiate | sed -e '/^module {$/d' -e '/^}$/d' > %t/differentiate.mlir
// RUN: cat %t/rest.mlir >> %t/differentiate.mlir
// RUN: %embedding_run %t/differentiate.mlir --kernels 2

//--- forward.mlir
func.func @layer(%q: tensor<2x2x20x16xf16>, %k: tensor<2x2x20x16xf16>, %v: tensor<2x2x20x16xf16>)
    -> (tensor<2x2x20x16xf16>, tensor<2x2x20xf32>) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.softcap<2.0>]
    : (tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>) -> (tensor<2x2x20x16xf16>, tensor<2x2x20xf32>)
  return %o, %lse : tensor<2x2x20x16xf16>, tensor<2x2x20xf32>
}

//--- rest.mlir
!q = tensor<2x2x20x16xf16>
!lse = tensor<2x2x20xf32>
func.func private @get(%seed: index) -> !q {
  %n = arith.constant 1280 : index
  %a = call @noise(%n, %seed) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<1280xf16>
  %q = tensor.expand_shape %b [[0, 1, 2, 3]] output_shape [2, 2, 20, 16] : tensor<1280xf16> into !q
  return %q : !q
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
  %q = call @get(%c1) : (index) -> !q
  %k = call @get(%c2) : (index) -> !q
  %v = call @get(%c3) : (index) -> !q
  %do = call @get(%c4) : (index) -> !q
  %o, %lse = call @layer(%q, %k, %v) : (!q, !q, !q) -> (!q, !lse)
  %dq, %dk, %dv = call @layer_backward(%q, %k, %v, %o, %lse, %do) : (!q, !q, !q, !q, !lse, !q) -> (!q, !q, !q)
  call @show(%o) : (!q) -> ()
  call @show(%dq) : (!q) -> ()
  call @show(%dk) : (!q) -> ()
  call @show(%dv) : (!q) -> ()
  return
}
