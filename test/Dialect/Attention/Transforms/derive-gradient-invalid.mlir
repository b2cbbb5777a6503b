// RUN: fa3-opt %s -attention-expand-mods -attention-derive-gradient -split-input-file -verify-diagnostics

!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>

// A derivative that nobody has stated.
func.func @round(%q: !t, %lse: !l) -> (!t, !t, !t) {
  // expected-note @+1 {{its gradient is asked for here}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
    score_mod (%s, %b, %h, %i, %j) {
      // expected-error @+1 {{in 'score_mod' has no derivative that is known: write a 'score_grad' region}}
      %y = math.roundeven %s : f32
      attention.yield %y : f32
    }
  return %g#0, %g#1, %g#2 : !t, !t, !t
}

// -----

!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>

// Mods edit the score behind the back of its derivative.
func.func @stale(%q: !t, %lse: !l) -> (!t, !t, !t) {
  // expected-error @+1 {{has mods that edit scores beside 'score_grad', which is not the derivative of what they make}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q mods [#attention.softcap<3.0>] : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
    score_mod (%s, %b, %h, %i, %j) {
      attention.yield %s : f32
    }
    score_grad (%s, %g0, %b, %h, %i, %j) {
      attention.yield %g0 : f32
    }
  return %g#0, %g#1, %g#2 : !t, !t, !t
}
