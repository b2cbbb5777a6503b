// (b, s, h * d) in and out, by the layout of attention and by expanded and
// collapsed shapes.
// REQUIRES: mlir-runner
// RUN: %embedding --kernels 1

!row = tensor<2x20x32xf16>
!bshd = tensor<2x20x2x16xf16>
func.func private @get(%seed: index) -> !row {
  %n = arith.constant 1280 : index
  %a = call @noise(%n, %seed) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<1280xf16>
  %q = tensor.expand_shape %b [[0, 1, 2]] output_shape [2, 20, 32] : tensor<1280xf16> into !row
  return %q : !row
}
func.func @layer(%x: !row, %y: !row, %z: !row) -> !row {
  %q = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [2, 20, 2, 16] : !row into !bshd
  %k = tensor.expand_shape %y [[0], [1], [2, 3]] output_shape [2, 20, 2, 16] : !row into !bshd
  %v = tensor.expand_shape %z [[0], [1], [2, 3]] output_shape [2, 20, 2, 16] : !row into !bshd
  %o = attention.forward %q, %k, %v layout bshd : (!bshd, !bshd, !bshd) -> !bshd
  %r = tensor.collapse_shape %o [[0], [1], [2, 3]] : !bshd into !row
  return %r : !row
}
func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %x = call @get(%c1) : (index) -> !row
  %y = call @get(%c2) : (index) -> !row
  %z = call @get(%c3) : (index) -> !row
  %o = call @layer(%x, %y, %z) : (!row, !row, !row) -> !row
  %r = tensor.collapse_shape %o [[0, 1, 2]] : !row into tensor<1280xf16>
  %s = tensor.cast %r : tensor<1280xf16> to tensor<?xf16>
  call @print(%s) : (tensor<?xf16>) -> ()
  return
}
