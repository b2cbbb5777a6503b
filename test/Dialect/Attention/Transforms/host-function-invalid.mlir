// RUN: fa3-opt %s -attention-to-reference -split-input-file -verify-diagnostics

// The form a function must have to get a host function.

!t = tensor<1x2x?x64xf16>
func.func @mods(%q: !t) -> !t {
  // expected-error @+1 {{expects mods to be expanded, run attention-expand-mods first}}
  %o = attention.forward %q, %q, %q mods [#attention.causal] : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>
// expected-error @+1 {{expects straight-line code around 'attention.forward', got several blocks}}
func.func @blocks(%q: !t) -> !t {
  cf.br ^next
^next:
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @nested(%q: !t, %c: i1) -> !t {
  %r = scf.if %c -> !t {
    // expected-error @+1 {{expects to lie directly in a function}}
    %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
    scf.yield %o : !t
  } else {
    scf.yield %q : !t
  }
  return %r : !t
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

!t = tensor<1x2x?x64xf16>
// expected-error @+1 {{expects argument 1 to be a ranked tensor or a scalar, got 'memref<4xf32>'}}
func.func @argument(%q: !t, %m: memref<4xf32>) -> !t {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>
// expected-error @+1 {{expects argument 1 to be a ranked tensor or a scalar, got 'tensor<*xf32>'}}
func.func @unranked(%q: !t, %m: tensor<*xf32>) -> !t {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @two(%q: !t) -> !t {
  %a = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  // expected-error @+1 {{is a second 'attention.forward' in its function, which may have one}}
  %b = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  return %a : !t
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @tensor_op(%q: !t, %m: tensor<4xf32>, %i: index) -> !t {
  // expected-error @+1 {{is not supported in a function with 'attention.forward': expects pure operations on scalars beside it}}
  %x = tensor.extract %m[%i] : tensor<4xf32>
  %o = attention.forward %q, %q, %q scale %x : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @computed(%q: !t, %n: index) -> !t {
  // expected-note @+1 {{it is computed here}}
  %e = tensor.empty(%n) : !t
  // expected-error @+1 {{expects k to be an argument of the function}}
  %o = attention.forward %q, %e, %q : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @computed_qv(%q: !t, %n: index) -> !t {
  // expected-note @+1 {{it is computed here}}
  %e = tensor.empty(%n) : !t
  // expected-error @+1 {{expects qv to be an argument of the function}}
  %o = attention.forward %q, %q, %q qv(%e : !t) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @computed_aux(%q: !t, %n: index) -> !t {
  // expected-note @+1 {{it is computed here}}
  %e = tensor.empty(%n) : tensor<?xf32>
  // expected-error @+1 {{expects auxiliary operand 0 to be an argument of the function}}
  %o = attention.forward %q, %q, %q aux(%e : tensor<?xf32>) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @not_returned(%q: !t) -> !t {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  // expected-error @+1 {{expects result 0 to be a result of 'attention.forward'}}
  return %q : !t
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @twice(%q: !t) -> (!t, !t) {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  // expected-error @+1 {{returns a result of 'attention.forward' twice}}
  return %o, %o : !t, !t
}

// -----

!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>
func.func @only_lse(%q: !t) -> !l {
  %o, %lse = attention.forward %q, %q, %q : (!t, !t, !t) -> (!t, !l)
  // expected-error @+1 {{expects o of 'attention.forward' to be returned}}
  return %lse : !l
}

// -----

!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>
func.func @extent(%q: !t) -> !t {
  %o, %lse = attention.forward %q, %q, %q : (!t, !t, !t) -> (!t, !l)
  %c2 = arith.constant 2 : index
  // expected-error @+1 {{asks for an extent of a result that is not returned}}
  %n = tensor.dim %lse, %c2 : !l
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>
func.func @negative(%q: !t, %x: tensor<?xf32>) -> !t {
  %o = attention.forward %q, %q, %q aux(%x : tensor<?xf32>) : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      %n = arith.constant -1 : index
      // expected-error @+1 {{expects indices of at least 0, got -1}}
      %e = tensor.extract %x[%n] : tensor<?xf32>
      attention.yield %e : f32
    }
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>
// expected-error @+1 {{expects distinct names of arguments, 0 and 1 are both named "q"}}
func.func @names(%a: !t, %b: !t {tile.name = "q"}) -> !t {
  %o = attention.forward %a, %b, %b : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>
// expected-error @+1 {{expects to end in 'func.return'}}
func.func @unreachable(%q: !t) -> !t {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  llvm.unreachable
}

// -----

// Operands of attention.quantize are arguments.
!t = tensor<1x2x?x64xf16>
!f = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x2x1xf32>
func.func @quantize_computed(%q: !t) -> (!f, !s) {
  // expected-note @+1 {{it is computed here}}
  %x = arith.negf %q : !t
  // expected-error @+1 {{expects the source to be an argument of the function}}
  %y, %s = attention.quantize %x : !t -> !f, !s
  return %y, %s : !f, !s
}

// -----

!t = tensor<1x2x?x64xf16>
!f = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x2x1xf32>
func.func @quantize_unused(%q: !t) -> !f {
  // expected-error @+1 {{expects its scales to be used by the attention or returned}}
  %y, %s = attention.quantize %q : !t -> !f, !s
  return %y : !f
}

// -----

!t = tensor<1x2x?x64xf16>
!f = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x2x1xf32>
func.func @quantize_used(%q: !t) -> (!f, !s) {
  // expected-error @+1 {{expects its scales to be used by the attention or returned}}
  %y, %s = attention.quantize %q : !t -> !f, !s
  // expected-note @+1 {{they are used here}}
  %n = arith.negf %s : !s
  return %y, %s : !f, !s
}

// -----

!t = tensor<1x2x2x64xf16>
!f = tensor<1x2x2x64xf8E4M3FN>
!s = tensor<1x2x1xf32>
func.func @quantize_layout(%q: !t) -> !t {
  // expected-error @+1 {{expects the layout of the attention that takes its values, 'bhsd', got 'bshd'}}
  %y, %s = attention.quantize %q layout bshd : !t -> !f, !s
  %o = attention.forward %y, %y, %y scales(%s, %s, %s : !s, !s, !s) : (!f, !f, !f) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x64xf16>
!f = tensor<1x2x?x64xf8E4M3FN>
!s = tensor<1x2x1xf32>
func.func @quantize_argument_returned(%q: !t) -> (!t, !f, !s) {
  %y, %s = attention.quantize %q : !t -> !f, !s
  // expected-error @+1 {{expects result 0 to be a result of 'attention.quantize'}}
  return %q, %y, %s : !t, !f, !s
}
