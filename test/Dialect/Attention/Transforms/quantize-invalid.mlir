// RUN: fa3-opt %s -attention-quantize="hadamard" -split-input-file -verify-diagnostics
// RUN: not fa3-opt %S/quantize.mlir -attention-quantize="format=f8E3M4" 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not fa3-opt %S/quantize.mlir -attention-quantize="scales=row" 2>&1 | FileCheck %s --check-prefix=SCALES
// RUN: not fa3-opt %S/quantize.mlir -attention-quantize="scales=block block-rows=1,2" 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not fa3-opt %S/quantize.mlir -attention-quantize="scales=block block-rows=0" 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not fa3-opt %S/quantize.mlir -attention-quantize="block-rows=64" 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: not fa3-opt %S/quantize.mlir -attention-quantize="qk-format=f8E5M2" 2>&1 | FileCheck %s --check-prefix=QK
// RUN: not fa3-opt %S/quantize.mlir -attention-quantize="q-terms=3" 2>&1 | FileCheck %s --check-prefix=TERMS
// RUN: not fa3-opt %S/quantize.mlir -attention-quantize="q-terms=2 qk-format=i8" 2>&1 | FileCheck %s --check-prefix=INTEGER

// TERMS: attention-quantize: expects q-terms of 1 or 2 with q and k of 'f8E4M3FN', got 3
// INTEGER: attention-quantize: expects q-terms of 1 with q and k of 'i8', got 2
// QK: attention-quantize: expects qk-format 'i8' or that of v ('f8E4M3FN'), got 'f8E5M2'
// FORMAT: attention-quantize: expects format 'f8E4M3FN' or 'f8E5M2', got 'f8E3M4'
// SCALES: attention-quantize: expects scales 'tensor', 'head', 'block' or 'token', got 'row'
// COUNT: attention-quantize: expects block-rows to be one or three numbers, got 2
// ROWS: attention-quantize: expects block-rows of at least 1, got 0
// BLOCK: attention-quantize: expects block-rows with scales=block only, got scales=head

!t = tensor<1x2x?x24xf16>
func.func @head_dim(%q: !t) -> !t {
  // expected-error @+1 {{cannot be quantized: 8-bit products take head dims that are multiples of 16, that of q is 24}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x112xf16>
func.func @order(%q: !t) -> !t {
  // expected-error @+1 {{cannot be rotated: expects a head dim of 1, 12 or 20 times a power of two for a Hadamard matrix, got 112}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @nested(%q: !t, %c: i1) -> !t {
  %r = scf.if %c -> !t {
    // expected-error @+1 {{cannot be rotated: expects to lie directly in a function}}
    %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    scf.yield %o : !t
  } else {
    scf.yield %q : !t
  }
  return %r : !t
}

// -----

!t = tensor<1x2x?x64xf16>
!u = tensor<1x2x?x64xbf16>
func.func @two(%q: !t, %r: !u) -> (!t, !u) {
  // expected-note @+1 {{it is here}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  // expected-error @+1 {{cannot be rotated: expects the head dim and element type of the other in its function}}
  %p = attention.forward %r, %r, %r : (!u, !u, !u) -> !u
  return %o, %p : !t, !u
}

// -----

!t = tensor<1x2x?x64xf16>
// expected-error @+1 {{expects a function that nothing else refers to: its type changes}}
func.func @called(%q: !t) -> !t {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  return %o : !t
}
func.func @caller(%q: !t) -> !t {
  %o = call @called(%q) : (!t) -> !t
  return %o : !t
}

// -----

!q = tensor<1x2x?x64xf16>
!v = tensor<1x2x64x?xf16>
func.func @transposed(%q: !q, %v: !v) -> !q {
  // expected-error @+1 {{cannot be quantized: v is transposed, attention.quantize takes rows of elements}}
  %o = attention.forward %q, %q, %v transposed_v : (!q, !q, !v) -> !q
  return %o : !q
}
