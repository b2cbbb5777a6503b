// RUN: fa3-opt %s -attention-expand-mods -attention-to-tile=pack-gqa=true -split-input-file -verify-diagnostics
// RUN: not fa3-opt %S/attention-to-tile.mlir -attention-to-tile=pack-gqa=some -o %t.none 2>&1 | FileCheck %s
// CHECK: for the --pack-gqa option: expects 'auto', 'true' or 'false', got 'some'

!q = tensor<2x?x1x64xf16>
!k = tensor<2x2x300x64xf16>
func.func @heads(%q: !q, %k: !k, %v: !k) -> !q {
  // expected-error @below {{cannot have the heads of a group packed into rows: expects numbers of heads, or a group, that are known to the compiler}}
  %o = attention.forward %q, %k, %v : (!q, !k, !k) -> !q
  return %o : !q
}

// -----

!q = tensor<2x71x1x64xf16>
!k = tensor<2x1x300x64xf16>
func.func @limit(%q: !q, %k: !k, %v: !k) -> !q {
  // expected-error @below {{cannot have the heads of a group packed into rows: a group has 71, expects at most 64 or a number that one up to that divides}}
  %o = attention.forward %q, %k, %v : (!q, !k, !k) -> !q
  return %o : !q
}

// -----

!q = tensor<2x8x1x64xf16>
!k = tensor<2x2x300x64xf16>
func.func @aux(%q: !q, %k: !k, %v: !k, %bias: tensor<?x?xf32>) -> !q {
  // expected-error @below {{cannot have the heads of a group packed into rows: an auxiliary operand is read by head or query}}
  %o = attention.forward %q, %k, %v aux(%bias : tensor<?x?xf32>) : (!q, !k, !k) -> !q
    score_mod (%s, %b, %h, %i, %j) {
      %c1 = arith.constant 1 : index
      %next = arith.addi %i, %c1 : index
      // expected-note @below {{it is read here}}
      %x = tensor.extract %bias[%next, %j] : tensor<?x?xf32>
      %y = arith.addf %s, %x : f32
      attention.yield %y : f32
    }
  return %o : !q
}

// -----

!q = tensor<2x8x1x64xf8E4M3FN>
!k = tensor<2x2x300x64xf8E4M3FN>
!o = tensor<2x8x1x64xf16>
!s = tensor<2x8x1xf32>
!t = tensor<2x2x1xf32>
func.func @scales(%q: !q, %k: !k, %v: !k, %qs: !s, %ks: !t, %vs: !t) -> !o {
  // expected-error @below {{cannot have the heads of a group packed into rows: expects scales of q for the 2 key heads or for all, and for all rows}}
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !t, !t) : (!q, !k, !k) -> !o
  return %o : !o
}

// -----

!q = tensor<?x8x?x64xf16>
!k = tensor<?x2x?x64xf16>
func.func @place(%q: !q, %k: !k, %v: !k, %used: tensor<?xi32>) -> !q {
  %sequences = attention.sequences
    place_q (%b, %h, %i) {
      %c8 = arith.constant 8 : index
      %first = arith.muli %b, %c8 : index
      %number = arith.addi %first, %h : index
      attention.yield %number, %h, %i : index, index, index
    }
  // expected-error @below {{cannot have the heads of a group packed into rows: the place of a query depends on its head}}
  %o = attention.forward %q, %k, %v aux(%used : tensor<?xi32>) sequences %sequences mods [#attention.used<q = 0>] : (!q, !k, !k) -> !q
  return %o : !q
}

// -----

!q = tensor<2x?x1x64xf8E4M3FN>
!o = tensor<2x?x1x64xf16>
!s = tensor<2x?x1xf32>
func.func @scales_of_unknown_heads(%q: !q, %k: !q, %v: !q, %s: !s) -> !o {
  // expected-error @below {{cannot have the heads of a group packed into rows: expects scales of q for all, and for all rows}}
  %o = attention.forward %q, %k, %v scales(%s, %s, %s : !s, !s, !s) group 4 : (!q, !q, !q) -> !o
  return %o : !o
}
