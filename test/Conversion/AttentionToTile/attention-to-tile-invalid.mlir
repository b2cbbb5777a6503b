// RUN: fa3-opt %s -attention-to-tile -split-input-file -verify-diagnostics
// RUN: not fa3-opt %S/attention-to-tile.mlir -attention-to-tile=block-m=100 -o %t.none 2>&1 | FileCheck %s --check-prefix=M
// RUN: not fa3-opt %S/attention-to-tile.mlir -attention-to-tile=block-m=-64 -o %t.none 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not fa3-opt %S/attention-to-tile.mlir -attention-to-tile=block-n=24 -o %t.none 2>&1 | FileCheck %s --check-prefix=N
// RUN: not fa3-opt %S/attention-to-tile.mlir -attention-to-tile=block-n=272 -o %t.none 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: not fa3-opt %S/attention-to-tile.mlir -attention-to-tile=rescale=seldom -o %t.none 2>&1 | FileCheck %s --check-prefix=RESCALE
// RUN: not fa3-opt %S/attention-to-tile.mlir -attention-to-tile='two-level-accumulation=false two-level-steps=2' -o %t.none 2>&1 | FileCheck %s --check-prefix=STEPS
// RUN: not fa3-opt %S/attention-to-tile.mlir -attention-to-tile=rescale-threshold=15 -o %t.none 2>&1 | FileCheck %s --check-prefix=THRESHOLD
// RUN: not fa3-opt %S/attention-to-tile.mlir -attention-to-tile=block-k=64 -o %t.none 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not fa3-opt %S/attention-to-tile.mlir -attention-to-tile=loads=all -o %t.none 2>&1 | FileCheck %s --check-prefix=LOADS
// RUN: not ls %t.none

// M: for the --block-m option: expects 0 or a multiple of 64 from 64 on, got 100
// NEGATIVE: for the --block-m option: expects 0 or a multiple of 64 from 64 on, got -64
// N: for the --block-n option: expects 0 or a multiple of 16 from 16 to 256, got 24
// WIDE: for the --block-n option: expects 0 or a multiple of 16 from 16 to 256, got 272
// RESCALE: for the --rescale option: expects 'lazy', 'eager' or 'never', got 'seldom'
// STEPS: error: attention-to-tile: expects no two-level-steps without two-level-accumulation, got 2
// THRESHOLD: error: attention-to-tile: expects rescale-threshold between 0 and 14, or -1, got 1.5{{0*}}e+01
// LOADS: for the --loads option: expects 'auto', 'bulk' or 'threads', got 'all'
// UNKNOWN: error: 'attention-to-tile' has no option 'block-k'; did you mean 'block-m'?

!q = tensor<1x1x?x64xf16>
func.func @mods(%q: !q, %k: !q, %v: !q) -> !q {
  // expected-error @below {{expects mods to be expanded, run attention-expand-mods first}}
  %o = attention.forward %q, %k, %v mods [#attention.causal] : (!q, !q, !q) -> !q
  return %o : !q
}

// -----

!q = tensor<1x1x?x64xf16>
!f = tensor<1x1x?x64xf8E4M3FN>
func.func @quantize_rows(%q: !q) -> (!f, tensor<1x1x?xf32>) {
  // expected-error @below {{has a scale for every 96 rows: expects 0 (all), 1 or a multiple of the tile's 64}}
  %y, %s = attention.quantize %q rows 96 : !q -> !f, tensor<1x1x?xf32>
  return %y, %s : !f, tensor<1x1x?xf32>
}

// -----

!q = tensor<?x4x?x64xf16>
!f = tensor<?x4x?x64xf8E4M3FN>
func.func @quantize_tokens(%q: !q) -> (!f, tensor<?x1x?xf32>) {
  // expected-error @below {{has a scale for every row that batches or heads share: expects scales of their own}}
  %y, %s = attention.quantize %q rows 1 : !q -> !f, tensor<?x1x?xf32>
  return %y, %s : !f, tensor<?x1x?xf32>
}
