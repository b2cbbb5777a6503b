// RUN: fa3-opt %s -attention-to-reference -split-input-file -verify-diagnostics

// What attention.merge may take in a host function, and what may be beside it.

!p = tensor<?x2x?x64xf32>
!l = tensor<?x2x?xf32>
!o = tensor<2x?x64xf16>
!s = tensor<2x?xf32>
func.func @computed(%p: !p, %l: !l) -> !o {
  // expected-note @+1 {{it is computed here}}
  %m = math.absf %l : !l
  // expected-error @+1 {{'attention.merge' op expects lse_parts to be an argument of the function}}
  %0:2 = attention.merge %p, %m : !p, !l -> !o, !s
  return %0#0 : !o
}

// -----

!p = tensor<?x2x?x64xf32>
!l = tensor<?x2x?xf32>
!o = tensor<2x?x64xf16>
!s = tensor<2x?xf32>
func.func @twice(%p: !p, %l: !l) -> (!o, !s) {
  // expected-error @+1 {{expects no other operation on attention in its function}}
  %0:2 = attention.merge %p, %l : !p, !l -> !o, !s
  // expected-note @+1 {{one is here}}
  %1:2 = attention.merge %p, %l : !p, !l -> !o, !s
  return %0#0, %1#1 : !o, !s
}

// -----

!p = tensor<?x2x?x64xf32>
!l = tensor<?x2x?xf32>
!o = tensor<2x?x64xf16>
!s = tensor<2x?xf32>
func.func @unused(%p: !p, %l: !l) -> !s {
  // expected-error @+1 {{expects o to be returned}}
  %0:2 = attention.merge %p, %l : !p, !l -> !o, !s
  return %0#1 : !s
}

// -----

!p = tensor<?x2x?x64xf32>
!l = tensor<?x2x?xf32>
!o = tensor<2x?x64xf16>
!s = tensor<2x?xf32>
func.func @extent(%p: !p, %l: !l) -> !o {
  %c1 = arith.constant 1 : index
  %0:2 = attention.merge %p, %l : !p, !l -> !o, !s
  // expected-error @+1 {{asks for an extent of a result that is not returned}}
  %1 = tensor.dim %0#1, %c1 : !s
  return %0#0 : !o
}
