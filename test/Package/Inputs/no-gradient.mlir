// The gradient in written-out.mlir, without the derivative.
!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>
func.func @f(%q: !t, %o: !t, %lse: !l, %g: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attention.backward %q, %q, %q, %o, %lse, %g
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
    score_mod (%s, %b, %h, %i, %j) {
      %a = math.atan %s : f32
      attention.yield %a : f32
    }
  return %dq, %dk, %dv : !t, !t, !t
}
