// RUN: fa3-opt %s -split-input-file -verify-diagnostics

!t = tensor<1x4x?x64xf16>
func.func @arguments(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attention.forward %q, %k, %v : (!t, !t, !t) -> !t
    // expected-error @below {{expects 4 arguments in 'mask_mod', got 3}}
    mask_mod (%b, %h, %i) {
      %yes = arith.constant true
      attention.yield %yes : i1
    }
  return %o : !t
}

// -----

!t = tensor<1x4x?x64xf16>
func.func @yields(%q: !t, %k: !t, %v: !t) -> !t {
  // expected-error @below {{expects 'mask_mod' to yield 'i1'}}
  %o = attention.forward %q, %k, %v : (!t, !t, !t) -> !t
    mask_mod (%b, %h, %i, %j) {
      attention.yield %j : index
    }
  return %o : !t
}
