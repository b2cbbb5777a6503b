// RUN: fa3-opt %s -attention-outline -split-input-file -verify-diagnostics
// RUN: not fa3-opt %s -fa3-lower-to-nvvm-pipeline -split-input-file -o /dev/null 2>&1 | FileCheck %s

// A place for attention that is none.
// CHECK: error: 'attention.forward' op cannot be outlined: it lies in 'gpu.module'

!t = tensor<1x2x?x64xf16>
// expected-note @+1 {{this is around it}}
gpu.module @device {
  func.func @f(%q: !t) -> !t {
    // expected-error @+1 {{cannot be outlined: it lies in 'gpu.module', which has symbols of its own}}
    %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    return %o : !t
  }
}

// -----

!t = tensor<1x2x?x64xf16>
// expected-note @+1 {{the scalar is from here}}
func.func @scalar(%q: !t, %x: f64) -> (!t, f64) {
  // expected-error @+1 {{cannot be outlined: it uses a scalar of type 'f64', expects f32, i32, i64 or index}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      %y = arith.truncf %x : f64 to f32
      %r = arith.addf %s, %y : f32
      attention.yield %r : f32
    }
  return %o, %x : !t, f64
}

// -----

!t = tensor<1x2x?x64xf16, "sparse">
func.func @encoding(%q: !t) -> (!t, !t) {
  // expected-error @+1 {{cannot be outlined: operand 0 of type 'tensor<1x2x?x64xf16, "sparse">' has an encoding}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  return %o, %q : !t, !t
}

// -----

func.func @head_dim(%q: tensor<1x2x8x?xf16>, %x: index) -> index {
  // expected-error @+1 {{expects}}
  %o = attention.forward %q, %q, %q : (tensor<1x2x8x?xf16>, tensor<1x2x8x?xf16>, tensor<1x2x8x?xf16>) -> tensor<1x2x8x?xf16>
  return %x : index
}
