// RUN: split-file %s %t
// RUN: not fa3-opt %t/fits.mlir -attention-quantize="gradients scales=block" 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: not fa3-opt %t/fits.mlir -attention-quantize="gradients scales=token" 2>&1 | FileCheck %s --check-prefix=TOKEN
// RUN: not fa3-opt %t/fits.mlir -attention-quantize="gradients qk-format=i8" 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not fa3-opt %t/fits.mlir -attention-quantize="gradients q-terms=2" 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not fa3-opt %t/unequal.mlir -attention-quantize="gradients hadamard" 2>&1 | FileCheck %s --check-prefix=DIMS
// RUN: not fa3-opt %t/odd.mlir -attention-quantize=gradients 2>&1 | FileCheck %s --check-prefix=ODD
// RUN: not fa3-opt %t/used.mlir -attention-quantize=gradients 2>&1 | FileCheck %s --check-prefix=USED

// BLOCK: fits.mlir:5:{{.*}} error: 'attention.backward' op cannot be quantized: its 8-bit copies have scales for whole sequences, expects scales=tensor or head, got one for 128 rows
// TOKEN: fits.mlir:5:{{.*}} error: 'attention.backward' op cannot be quantized: its 8-bit copies have scales for whole sequences, expects scales=tensor or head, got one for 1 rows
// FORMAT: fits.mlir:5:{{.*}} error: 'attention.backward' op cannot be quantized: its 8-bit copies are one float an element, expects neither qk-format=i8 nor q-terms=2
// DIMS: unequal.mlir:6:{{.*}} error: 'attention.backward' op cannot be rotated: expects one head dim of q and v, got 64 and 32
// ODD: odd.mlir:5:{{.*}} error: 'attention.backward' op cannot be quantized: 8-bit products take head dims that are multiples of 16, that of q is 24
// USED: used.mlir:5:{{.*}} error: 'attention.backward' op expects no lengths of sequences beside 8-bit copies

//--- fits.mlir
!t = tensor<1x1x?x64xbf16>
!l = tensor<1x1x?xf32>
func.func @fits(%q: !t, %l: !l) -> (!t, !t, !t) {
  // On the next line.
  %dq, %dk, %dv = attention.backward %q, %q, %q, %q, %l, %q : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return %dq, %dk, %dv : !t, !t, !t
}

//--- unequal.mlir
!t = tensor<1x1x?x64xbf16>
!v = tensor<1x1x?x32xbf16>
!l = tensor<1x1x?xf32>
func.func @unequal(%q: !t, %v: !v, %l: !l) -> (!t, !t, !v) {
  // On the next line.
  %dq, %dk, %dv = attention.backward %q, %q, %v, %v, %l, %v : (!t, !t, !v, !v, !l, !v) -> (!t, !t, !v)
  return %dq, %dk, %dv : !t, !t, !v
}

//--- odd.mlir
!t = tensor<1x1x?x24xbf16>
!l = tensor<1x1x?xf32>
func.func @odd(%q: !t, %l: !l) -> (!t, !t, !t) {
  // On the next line.
  %dq, %dk, %dv = attention.backward %q, %q, %q, %q, %l, %q : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return %dq, %dk, %dv : !t, !t, !t
}

//--- used.mlir
!t = tensor<1x1x?x64xbf16>
!l = tensor<1x1x?xf32>
func.func @used(%q: !t, %l: !l, %n: tensor<1xi32>) -> (!t, !t, !t) {
  // On the next line.
  %dq, %dk, %dv = attention.backward %q, %q, %q, %q, %l, %q aux(%n : tensor<1xi32>) mods [#attention.used<k = 0>]
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return %dq, %dk, %dv : !t, !t, !t
}
