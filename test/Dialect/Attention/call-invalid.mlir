// RUN: fa3-opt %s -split-input-file -verify-diagnostics

// attention.call C1
!t = tensor<1x2x?x64xf16>
func.func private @f(!t) -> !t
func.func @both(%q: !t, %o: memref<1x2x?x64xf16>) {
  // expected-error @+1 {{expects tensors or memrefs, got both}}
  attention.call @f(%q : !t) outs(%o : memref<1x2x?x64xf16>)
  return
}

// -----

// C2
!t = tensor<1x2x?x64xf16>
func.func private @f(!t)
func.func @none(%q: !t) {
  // expected-error @+1 {{expects at least one of outs}}
  "attention.call"(%q) <{callee = @f, operandSegmentSizes = array<i32: 1, 0>}> : (!t) -> ()
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func private @f(!t) -> !t
func.func @results(%q: !t) {
  // expected-error @+1 {{expected the number of tensor results (0) to be equal to the number of output tensors (1)}}
  attention.call @f(%q : !t) outs(%q : !t)
  return
}

// -----

// C3
!t = tensor<1x2x?x64xf16>
func.func private @f(!t) -> !t
func.func @number(%q: !t) {
  // expected-error @+1 {{expects a view for each of its 2 operands, got 1}}
  attention.call @f(%q : !t) outs(%q : !t) views [[]] -> !t
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func private @f(!t) -> !t
func.func @permutation(%q: !t) {
  // expected-error @+1 {{expects the view of operand 0 to be a permutation of its 4 dimensions, got [0, 0, 1, 3]}}
  attention.call @f(%q : !t) outs(%q : !t) views [[0, 0, 1, 3], []] -> !t
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func private @f(!t) -> !t
func.func @last(%q: !t) {
  // expected-error @+1 {{expects the view of operand 0 to keep the last dimension, got [0, 1, 3, 2]}}
  attention.call @f(%q : !t) outs(%q : !t) views [[0, 1, 3, 2], []] -> !t
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func private @f(!t, f32) -> !t
func.func @scalar(%q: !t, %x: f32) {
  // expected-error @+1 {{expects no view of operand 1, a scalar}}
  attention.call @f(%q, %x : !t, f32) outs(%q : !t) views [[], [0], []] -> !t
  return
}

// -----

// C4
!m = memref<1x2x8x64xf16>
func.func private @f(!m, !m)
func.func @alias(%q: !m) {
  // expected-error @+1 {{writes operand 1, which is operand 0 as well}}
  attention.call @f(%q : !m) outs(%q : !m)
  return
}

// -----

// C5
!t = tensor<1x2x?x64xf16>
func.func @missing(%q: !t) {
  // expected-error @+1 {{calls 'f', which is no function of the module}}
  attention.call @f(%q : !t) outs(%q : !t) -> !t
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func private @f(!t, !t) -> !t
func.func @count(%q: !t) {
  // expected-error @+1 {{expects a function of 1 arguments and 1 results, or of 2 arguments and none, got one of 2 and 1}}
  attention.call @f(%q : !t) outs(%q : !t) -> !t
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func private @f(tensor<1x?x2x64xf16>) -> !t
func.func @extents(%q: tensor<1x4x8x64xf16>, %o: !t) {
  // expected-error @+1 {{operand 0 of type 'tensor<1x4x8x64xf16>' does not fit 'f', which takes 'tensor<1x?x2x64xf16>'}}
  attention.call @f(%q : tensor<1x4x8x64xf16>) outs(%o : !t) -> !t
  return
}

// -----

!c = tensor<2x2x64x64xf16>
func.func private @f(!c, !c) -> !c
func.func @updates(%x: !c, %cache: !c) -> !c {
  // expected-error @+1 {{with updates expects a function without results, got 1}}
  %r = attention.call @f(%x : !c) updates outs(%cache : !c) -> !c
  return %r : !c
}
