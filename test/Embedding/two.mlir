// Two attentions in a row, and a third that differs. Heads of q share those of k.
// REQUIRES: mlir-runner
// RUN: %embedding --kernels 2

!q = tensor<2x2x20x16xf16>
!k = tensor<2x1x20x16xf16>
func.func @main() {
  %nq = arith.constant 1280 : index
  %nk = arith.constant 640 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %a = call @noise(%nq, %c1) : (index, index) -> tensor<?xf16>
  %b = call @noise(%nk, %c2) : (index, index) -> tensor<?xf16>
  %c = call @noise(%nk, %c3) : (index, index) -> tensor<?xf16>
  %a0 = tensor.cast %a : tensor<?xf16> to tensor<1280xf16>
  %b0 = tensor.cast %b : tensor<?xf16> to tensor<640xf16>
  %d0 = tensor.cast %c : tensor<?xf16> to tensor<640xf16>
  %q = tensor.expand_shape %a0 [[0, 1, 2, 3]] output_shape [2, 2, 20, 16] : tensor<1280xf16> into !q
  %k = tensor.expand_shape %b0 [[0, 1, 2, 3]] output_shape [2, 1, 20, 16] : tensor<640xf16> into !k
  %v = tensor.expand_shape %d0 [[0, 1, 2, 3]] output_shape [2, 1, 20, 16] : tensor<640xf16> into !k
  %first = attention.forward %q, %k, %v mods [#attention.causal] : (!q, !k, !k) -> !q
  %second = attention.forward %first, %k, %v mods [#attention.causal] : (!q, !k, !k) -> !q
  %third = attention.forward %first, %k, %v : (!q, !k, !k) -> !q
  %x = tensor.collapse_shape %second [[0, 1, 2, 3]] : !q into tensor<1280xf16>
  %y = tensor.collapse_shape %third [[0, 1, 2, 3]] : !q into tensor<1280xf16>
  %x0 = tensor.cast %x : tensor<1280xf16> to tensor<?xf16>
  %y0 = tensor.cast %y : tensor<1280xf16> to tensor<?xf16>
  call @print(%x0) : (tensor<?xf16>) -> ()
  call @print(%y0) : (tensor<?xf16>) -> ()
  return
}
