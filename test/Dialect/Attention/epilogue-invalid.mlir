// RUN: fa3-opt %s -split-input-file -verify-diagnostics -attention-expand-mods

// C30
!t = tensor<1x2x?x64xf16>
func.func @yields(%q: !t) {
  // expected-error @+1 {{expects 'epilogue' to yield 'f32'}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    epilogue (%x, %b, %h, %i, %c) {
      attention.yield %c : index
    }
  return
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @arguments(%q: !t) {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    // expected-error @+1 {{expects 5 arguments in 'epilogue', got 4}}
    epilogue (%x, %b, %h, %i) {
      attention.yield %x : f32
    }
  return
}

// -----

// C30
!t = tensor<1x2x?x64xf16>
!o = tensor<1x2x?x64xf64>
func.func @type(%q: !t) {
  // expected-error @+1 {{expects o of f16, bf16, f32, f8E4M3FN or f8E5M2 beside 'epilogue', got 'f64'}}
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !o
    epilogue (%x, %b, %h, %i, %c) {
      attention.yield %x : f32
    }
  return
}

// -----

// C9: a norm would look at other columns.
!t = tensor<1x2x?x64xf16>
func.func @code(%q: !t) {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    epilogue (%x, %b, %h, %i, %c) {
      // expected-error @+1 {{is not allowed in 'epilogue', which holds pure elementwise scalar operations}}
      %row = tensor.splat %x : tensor<64xf32>
      attention.yield %x : f32
    }
  return
}

// -----

// C31
!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>
func.func @plain_alone(%q: !t) {
  // expected-error @+1 {{expects 'epilogue' beside 'plain'}}
  %o:3 = attention.forward %q, %q, %q plain : (!t, !t, !t) -> (!t, !l, !t)
  return
}

// -----

// C31
!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>
func.func @plain_shape(%q: !t) {
  // expected-error @+1 {{expects plain to have the shape of o ('tensor<1x2x?x64xf16>'), got 'tensor<1x2x?x32xf16>'}}
  %o:3 = attention.forward %q, %q, %q plain : (!t, !t, !t) -> (!t, !l, tensor<1x2x?x32xf16>)
    epilogue (%x, %b, %h, %i, %c) {
      attention.yield %x : f32
    }
  return
}

// -----

// C31
!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>
func.func @plain_type(%q: !t) {
  // expected-error @+1 {{expects plain to have the element type of q ('f16'), got 'bf16'}}
  %o:3 = attention.forward %q, %q, %q plain : (!t, !t, !t) -> (!t, !l, tensor<1x2x?x64xbf16>)
    epilogue (%x, %b, %h, %i, %c) {
      attention.yield %x : f32
    }
  return
}

// -----

// C31
!t = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x1x1xf32>
!l = tensor<1x2x?xf32>
func.func @plain_bytes(%q: !t, %s: !s) {
  // expected-error @+1 {{expects plain of f16, bf16 or f32, got 'f8E4M3FN'}}
  %o:3 = attention.forward %q, %q, %q scales(%s, %s, %s : !s, !s, !s) plain : (!t, !t, !t) -> (!t, !l, !t)
    epilogue (%x, %b, %h, %i, %c) {
      attention.yield %x : f32
    }
  return
}

// -----

!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>
func.func @plain_results(%q: !t) {
  // expected-error @+1 {{expects 3 operand types and 3 result types, got 3 and 2}}
  %o:2 = attention.forward %q, %q, %q plain : (!t, !t, !t) -> (!t, !l)
  return
}

// -----

// C31
!t = tensor<1x2x?x64xf16>
func.func @plain_without_lse(%q: !t) {
  // expected-error @+1 {{expects lse beside 'plain'}}
  %o:2 = "attention.forward"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 1, 0>}> ({}, {}, {}, {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %c: index):
      attention.yield %x : f32
  }) : (!t, !t, !t) -> (!t, !t)
  return
}

// -----

// C28 of backward
!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>
func.func @gradient_alone(%q: !t, %lse: !l) {
  // expected-error @+1 {{expects no 'epilogue_grad' without 'epilogue'}}
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
    epilogue_grad (%x, %dy, %b, %h, %i, %c) {
      attention.yield %dy : f32
    }
  return
}

// -----

// C27 of backward
!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>
func.func @gradient_yields(%q: !t, %lse: !l) {
  // expected-error @+1 {{expects 'epilogue_grad' to yield 'f32', 'f32'}}
  %g:4 = attention.backward %q, %q, %q, %q, %lse, %q aux(%q : !t) grad_aux [0] : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t, !t)
    epilogue (%x, %b, %h, %i, %c) {
      %r = tensor.extract %q[%b, %h, %i, %c] : !t
      %wide = arith.extf %r : f16 to f32
      %y = arith.addf %x, %wide : f32
      attention.yield %y : f32
    }
    epilogue_grad (%x, %dy, %b, %h, %i, %c) {
      attention.yield %dy : f32
    }
  return
}

// -----

// C29 of backward: rows share what is read.
!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>
!w = tensor<64xf32>
func.func @shared(%q: !t, %lse: !l, %w: !w) {
  %g:4 = attention.backward %q, %q, %q, %q, %lse, %q aux(%w : !w) grad_aux [0] : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t, !w)
    epilogue (%x, %b, %h, %i, %c) {
      // expected-error @+1 {{reads an operand whose gradient is asked for: expects an element for every batch, head and query, got less}}
      %r = tensor.extract %w[%c] : !w
      %y = arith.mulf %x, %r : f32
      attention.yield %y : f32
    }
  return
}

// -----

// C29 of backward
!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>
func.func @column_first(%q: !t, %lse: !l, %w: tensor<64x1x2x?xf32>) {
  %g:4 = attention.backward %q, %q, %q, %q, %lse, %q aux(%w : tensor<64x1x2x?xf32>) grad_aux [0] : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t, tensor<64x1x2x?xf32>)
    epilogue (%x, %b, %h, %i, %c) {
      // expected-error @+1 {{expects batch, head and query, and behind them perhaps the column, each once, not so index 1}}
      %r = tensor.extract %w[%c, %b, %h, %i] : tensor<64x1x2x?xf32>
      %y = arith.mulf %x, %r : f32
      attention.yield %y : f32
    }
  return
}

// -----

// C29 of backward
!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>
func.func @two_places(%q: !t, %lse: !l, %w: tensor<1x2x?xf32>) {
  %g:4 = attention.backward %q, %q, %q, %q, %lse, %q aux(%w : tensor<1x2x?xf32>) grad_aux [0] : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t, tensor<1x2x?xf32>)
    score_mod (%s, %b, %h, %i, %j) {
      // expected-error @+1 {{reads an operand whose gradient is asked for, and so does 'epilogue'}}
      %r = tensor.extract %w[%b, %h, %i] : tensor<1x2x?xf32>
      %y = arith.addf %s, %r : f32
      attention.yield %y : f32
    }
    epilogue (%x, %b, %h, %i, %c) {
      // expected-note @+1 {{it reads it here}}
      %r = tensor.extract %w[%b, %h, %i] : tensor<1x2x?xf32>
      %y = arith.mulf %x, %r : f32
      attention.yield %y : f32
    }
  return
}

// -----

// C29 of backward
!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>
func.func @max_q(%q: !t, %lse: !l, %w: tensor<1x2x?xf32>, %n: index) {
  %sequences = attention.sequences max_q %n
  // expected-error @+1 {{expects no 'max_q' beside gradients of operands that 'epilogue' reads}}
  %g:4 = attention.backward %q, %q, %q, %q, %lse, %q aux(%w : tensor<1x2x?xf32>) grad_aux [0] sequences %sequences : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t, tensor<1x2x?xf32>)
    epilogue (%x, %b, %h, %i, %c) {
      %r = tensor.extract %w[%b, %h, %i] : tensor<1x2x?xf32>
      %y = arith.mulf %x, %r : f32
      attention.yield %y : f32
    }
  return
}

// -----

// C29 of backward: not where the rows of o are.
!t = tensor<?x2x64xf16>
!l = tensor<2x?xf32>
func.func @other_row(%q: !t, %lse: !l, %starts: tensor<?xi32>) {
  %g:4 = attention.backward %q, %q, %q, %q, %lse, %q aux(%starts, %q : tensor<?xi32>, !t) grad_aux [1] layout bshd
    mods [#attention.packed<q = 0, k = 0>] : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t, !t)
    epilogue (%x, %b, %h, %i, %c) {
      // expected-error @+1 {{expects batch, head and query, and behind them perhaps the column, each once, not so index 0}}
      %r = tensor.extract %q[%i, %h, %c] : !t
      %wide = arith.extf %r : f16 to f32
      %y = arith.mulf %x, %wide : f32
      attention.yield %y : f32
    }
  return
}
