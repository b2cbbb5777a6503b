// Two steps of gradient descent: attention and its gradients in a loop, with
// linalg between them.
// REQUIRES: mlir-runner
// RUN: %embedding --kernels 2

!q = tensor<2x2x20x16xf16>
!k = tensor<2x1x20x16xf16>
!lse = tensor<2x2x20xf32>
#id = affine_map<(b, h, s, d) -> (b, h, s, d)>
func.func private @step(%x: !q, %dx: !q) -> !q {
  %e = tensor.empty() : !q
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %dx : !q, !q) outs(%e : !q) {
  ^bb0(%a: f16, %b: f16, %unused: f16):
    %rate = arith.constant 0.5 : f16
    %part = arith.mulf %b, %rate : f16
    %r = arith.subf %a, %part : f16
    linalg.yield %r : f16
  } -> !q
  return %y : !q
}
func.func private @show(%x: !k) {
  %r = tensor.collapse_shape %x [[0, 1, 2, 3]] : !k into tensor<640xf16>
  %s = tensor.cast %r : tensor<640xf16> to tensor<?xf16>
  call @print(%s) : (tensor<?xf16>) -> ()
  return
}
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %n = arith.constant 1280 : index
  %m = arith.constant 640 : index
  %a = call @noise(%n, %c1) : (index, index) -> tensor<?xf16>
  %b = call @noise(%m, %c2) : (index, index) -> tensor<?xf16>
  %c = call @noise(%m, %c3) : (index, index) -> tensor<?xf16>
  %a0 = tensor.cast %a : tensor<?xf16> to tensor<1280xf16>
  %b0 = tensor.cast %b : tensor<?xf16> to tensor<640xf16>
  %d0 = tensor.cast %c : tensor<?xf16> to tensor<640xf16>
  %first = tensor.expand_shape %a0 [[0, 1, 2, 3]] output_shape [2, 2, 20, 16] : tensor<1280xf16> into !q
  %k = tensor.expand_shape %b0 [[0, 1, 2, 3]] output_shape [2, 1, 20, 16] : tensor<640xf16> into !k
  %v = tensor.expand_shape %d0 [[0, 1, 2, 3]] output_shape [2, 1, 20, 16] : tensor<640xf16> into !k
  %last = scf.for %i = %c0 to %c2 step %c1 iter_args(%q = %first) -> !q {
    %o, %lse = attention.forward %q, %k, %v mods [#attention.causal] : (!q, !k, !k) -> (!q, !lse)
    // The loss is half the sum of squares of o.
    %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %o mods [#attention.causal]
      : (!q, !k, !k, !q, !lse, !q) -> (!q, !k, !k)
    func.call @show(%dk) : (!k) -> ()
    func.call @show(%dv) : (!k) -> ()
    %next = func.call @step(%q, %dq) : (!q, !q) -> !q
    scf.yield %next : !q
  }
  %r = tensor.collapse_shape %last [[0, 1, 2, 3]] : !q into tensor<1280xf16>
  %s = tensor.cast %r : tensor<1280xf16> to tensor<?xf16>
  call @print(%s) : (tensor<?xf16>) -> ()
  return
}
