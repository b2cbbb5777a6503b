// RUN: not fa3-opt %s -attention-to-tile="last-block=half" 2>&1 | FileCheck %s
// RUN: not fa3-opt %s -attention-to-tile="last-keys=24" 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: not fa3-opt %s -attention-to-tile="last-keys=256" 2>&1 | FileCheck %s --check-prefix=MOST
// RUN: fa3-opt %s -attention-expand-mods -attention-to-tile="last-block=narrow last-keys=48 block-n=96" -split-input-file -verify-diagnostics

// STEP: for the --last-keys option: expects a multiple of 16 from 0 to 240, got 24
// MOST: for the --last-keys option: expects a multiple of 16 from 0 to 240, got 256
// CHECK: for the --last-block option: expects 'auto', 'whole' or 'narrow', got 'half'

!u = tensor<1x2x?x64xf16>
func.func @lengths(%q: !u, %k: !u, %lengths: tensor<?xi32>) -> !u {
  // expected-error @+1 {{has sequences with lengths of their own, expects no last-block=narrow}}
  %o = attention.forward %q, %k, %k aux(%lengths : tensor<?xi32>) mods [#attention.used<k = 0>] : (!u, !u, !u) -> !u
  return %o : !u
}

// -----

!t = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x1x1xf32>
func.func @step(%q: !t, %k: !t, %s: !s) -> tensor<1x2x?x64xf16> {
  // expected-error @+1 {{expects last-keys to be a multiple of 32, got 48}}
  %o = attention.forward %q, %k, %k scales(%s, %s, %s : !s, !s, !s) : (!t, !t, !t) -> tensor<1x2x?x64xf16>
  return %o : tensor<1x2x?x64xf16>
}

// -----

!w = tensor<1x2x?x512xf16>
func.func @wide(%q: !w, %k: !w) -> !w {
  // expected-error @+1 {{has values of 512 columns, expects at most 256 with last-block=narrow}}
  %o = attention.forward %q, %k, %k : (!w, !w, !w) -> !w
  return %o : !w
}
