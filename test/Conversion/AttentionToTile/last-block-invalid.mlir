// RUN: not fa3-opt %s -attention-to-tile="last-block=half" 2>&1 | FileCheck %s
// RUN: fa3-opt %s -attention-to-tile="last-block=narrow block-n=96" -split-input-file -verify-diagnostics

// CHECK: for the --last-block option: expects 'auto', 'whole' or 'narrow', got 'half'

func.func @unknown(%q: tensor<1x2x64x64xf16>, %k: tensor<1x2x?x64xf16>) -> tensor<1x2x64x64xf16> {
  // expected-error @+1 {{has an unknown number of keys, expects a known one with last-block=narrow}}
  %o = attention.forward %q, %k, %k : (tensor<1x2x64x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) -> tensor<1x2x64x64xf16>
  return %o : tensor<1x2x64x64xf16>
}

// -----

!t = tensor<1x2x160x64xf8E4M3FN>
!s = tensor<1x1x1xf32>
!b = tensor<1x1x2xf32>
func.func @scales(%q: !t, %k: !t, %qs: !s, %ks: !b, %vs: !b) -> tensor<1x2x160x64xf16> {
  // expected-error @+1 {{has a scale for every 96 keys, expects a multiple of the last block's 64}}
  %o = attention.forward %q, %k, %k scales(%qs, %ks, %vs : !s, !b, !b) rows [0, 96, 96] : (!t, !t, !t) -> tensor<1x2x160x64xf16>
  return %o : tensor<1x2x160x64xf16>
}
