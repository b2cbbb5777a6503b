// A function that consists of attention and that others call: it keeps its type,
// since they call it.
// REQUIRES: mlir-runner
// RUN: %embedding --kernels 1

!q = tensor<2x2x20x16xf16>
func.func @mix(%x: !q, %y: !q) -> !q {
  %o = attention.forward %x, %y, %y : (!q, !q, !q) -> !q
  return %o : !q
}
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
  %x = call @get(%c1) : (index) -> !q
  %y = call @get(%c2) : (index) -> !q
  %first = call @mix(%x, %y) : (!q, !q) -> !q
  %second = call @mix(%first, %x) : (!q, !q) -> !q
  call @show(%second) : (!q) -> ()
  call @show(%first) : (!q) -> ()
  return
}
