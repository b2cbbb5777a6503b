// Attention in scf.for, on what the loop carries, and in scf.if.
// REQUIRES: mlir-runner
// RUN: %embedding --kernels 1

!q = tensor<2x2x20x16xf16>
func.func private @get(%seed: index) -> !q {
  %n = arith.constant 1280 : index
  %a = call @noise(%n, %seed) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<1280xf16>
  %q = tensor.expand_shape %b [[0, 1, 2, 3]] output_shape [2, 2, 20, 16] : tensor<1280xf16> into !q
  return %q : !q
}
func.func @repeat(%count: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %x = call @get(%c1) : (index) -> !q
  %k = call @get(%c2) : (index) -> !q
  %v = call @get(%c3) : (index) -> !q
  %y = scf.for %i = %c0 to %count step %c1 iter_args(%now = %x) -> !q {
    %next = attention.forward %now, %k, %v : (!q, !q, !q) -> !q
    scf.yield %next : !q
  }
  %isSome = arith.cmpi sgt, %count, %c0 : index
  %z = scf.if %isSome -> !q {
    %last = attention.forward %y, %v, %k : (!q, !q, !q) -> !q
    scf.yield %last : !q
  } else {
    scf.yield %y : !q
  }
  %r = tensor.collapse_shape %z [[0, 1, 2, 3]] : !q into tensor<1280xf16>
  %s = tensor.cast %r : tensor<1280xf16> to tensor<?xf16>
  call @print(%s) : (tensor<?xf16>) -> ()
  return
}
func.func @main() {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  call @repeat(%c3) : (index) -> ()
  call @repeat(%c0) : (index) -> ()
  return
}
