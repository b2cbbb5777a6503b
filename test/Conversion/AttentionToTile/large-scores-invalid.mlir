// RUN: fa3-opt %s -verify-diagnostics -attention-expand-mods -attention-derive-gradient -attention-to-tile=backward-form=fused

!t = tensor<?x2x?x64xbf16>
!l = tensor<?x2x?xf32>

func.func @backward(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t) -> (!t, !t, !t) {
  // expected-error@below {{has no fused form with score code that may yield more than 1.638400e+04: sums of weights come from another kernel}}
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
    score_mod (%s, %b, %h, %i, %j) {
      %factor = arith.constant 1.0e+5 : f32
      %x = arith.mulf %s, %factor : f32
      attention.yield %x : f32
    }
  return %dq, %dk, %dv : !t, !t, !t
}
