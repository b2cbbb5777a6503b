// Score code that uses a scalar of the loop around attention and a tensor.
// REQUIRES: mlir-runner
// RUN: %embedding --kernels 1

!q = tensor<2x2x20x16xf16>
!bias = tensor<2x20x20xf16>
func.func private @get(%seed: index) -> !q {
  %n = arith.constant 1280 : index
  %a = call @noise(%n, %seed) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<1280xf16>
  %q = tensor.expand_shape %b [[0, 1, 2, 3]] output_shape [2, 2, 20, 16] : tensor<1280xf16> into !q
  return %q : !q
}
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %n = arith.constant 800 : index
  %q = call @get(%c1) : (index) -> !q
  %k = call @get(%c2) : (index) -> !q
  %v = call @get(%c3) : (index) -> !q
  %a = call @noise(%n, %c4) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<800xf16>
  %bias = tensor.expand_shape %b [[0, 1, 2]] output_shape [2, 20, 20] : tensor<800xf16> into !bias
  %first = arith.constant 0.5 : f32
  %factor = arith.constant -0.5 : f32
  %scale = arith.constant 0.5 : f32
  scf.for %i = %c0 to %c2 step %c1 iter_args(%slope = %first) -> f32 {
    %o = attention.forward %q, %k, %v aux(%bias : !bias) scale %scale : (!q, !q, !q) -> !q
      score_mod (%s, %bb, %h, %qi, %kj) {
        %distance = arith.subi %kj, %qi : index
        %d32 = arith.index_cast %distance : index to i32
        %d = arith.sitofp %d32 : i32 to f32
        %t = arith.mulf %d, %slope : f32
        %u = arith.addf %s, %t : f32
        %w = tensor.extract %bias[%h, %qi, %kj] : !bias
        %wide = arith.extf %w : f16 to f32
        %r = arith.addf %u, %wide : f32
        attention.yield %r : f32
      }
    %r = tensor.collapse_shape %o [[0, 1, 2, 3]] : !q into tensor<1280xf16>
    %s = tensor.cast %r : tensor<1280xf16> to tensor<?xf16>
    func.call @print(%s) : (tensor<?xf16>) -> ()
    %next = arith.mulf %slope, %factor : f32
    scf.yield %next : f32
  }
  return
}
