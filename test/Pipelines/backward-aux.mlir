// Gradients of auxiliary operands after the passes on tiles, and by the
// instructions of the kernels, compared with the formula in f64.

// DEFINE: %{dims} =
// DEFINE: %{tiles} = fa3-run --cpu --dims %{dims}
// DEFINE: %{hopper} = fa3-run --cpu --require-fences --pass-pipeline='builtin.module(fa3-tile,fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' --dims %{dims}

// RUN: split-file %s %t

// A bias for every pair, one that batches share, one that heads share; masked
// pairs have 0.
// REDEFINE: %{dims} = b=2,sq=70,sk=75
// RUN: %{tiles} %t/pairs.mlir | FileCheck %s --check-prefixes=CHECK,PAIRS
// RUN: %{hopper} %t/pairs.mlir | FileCheck %s --check-prefixes=CHECK,PAIRS
// REDEFINE: %{dims} = b=1,sq=5,sk=0
// RUN: %{hopper} %t/pairs.mlir | FileCheck %s --check-prefixes=CHECK,PAIRS

// One of keys, one of queries, slopes of heads, one number for all.
// REDEFINE: %{dims} = b=2,sq=70,sk=75
// RUN: %{tiles} %t/rows.mlir | FileCheck %s --check-prefixes=CHECK,ROWS
// RUN: %{hopper} %t/rows.mlir | FileCheck %s --check-prefixes=CHECK,ROWS

// Code that asks for an extent.
// REDEFINE: %{dims} = b=2,sq=70,sk=75,n0=9
// RUN: %{tiles} %t/extent.mlir | FileCheck %s
// RUN: %{hopper} %t/extent.mlir | FileCheck %s

// The derivative by hand is taken as it is: a wrong one gives wrong results.
// REDEFINE: %{dims} = b=1,sq=20,sk=20
// RUN: not %{tiles} %t/wrong.mlir 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: error: 'daux0' differs in {{[0-9]+}} of 800 elements

// The function that is differentiated, forward and backward.
// REDEFINE: %{dims} = b=1,h=4,hk=2,sq=40,sk=50
// RUN: fa3-opt %t/forward.mlir -attention-differentiate=grad-aux=0 -o %t/both.mlir
// RUN: %{tiles} --function=forward_backward %t/both.mlir | FileCheck %s --check-prefixes=CHECK,BOTH
// RUN: %{tiles} --function=forward %t/both.mlir | FileCheck %s --check-prefix=FORWARD
// FORWARD: o: max error
// FORWARD: lse: max error

// CHECK: dq: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// CHECK: dk: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// CHECK: dv: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// PAIRS: daux0: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// PAIRS: daux1: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// PAIRS: daux2: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// ROWS: daux0: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// ROWS: daux1: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// ROWS: daux2: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// ROWS: daux3: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// BOTH: daux0: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}

//--- pairs.mlir
!q = tensor<?x4x?x64xf16>
!k = tensor<?x2x?x64xf16>
!l = tensor<?x4x?xf32>
!a = tensor<?x4x?x?xf32>
!b = tensor<1x4x?x?xf16>
!c = tensor<1x1x?x?xbf16>
func.func @pairs(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !l, %do: !q, %a: !a, %b: !b, %c: !c) -> (!q, !k, !k, !a, !b, !c) {
  %dq, %dk, %dv, %da, %db, %dc = attention.backward %q, %k, %v, %o, %lse, %do aux(%a, %b, %c : !a, !b, !c) grad_aux [0, 1, 2]
    mods [#attention.softcap<4.0>, #attention.bias<aux = 0>, #attention.bias<aux = 1>, #attention.bias<aux = 2>, #attention.causal]
    : (!q, !k, !k, !q, !l, !q) -> (!q, !k, !k, !a, !b, !c)
  return %dq, %dk, %dv, %da, %db, %dc : !q, !k, !k, !a, !b, !c
}

//--- rows.mlir
!q = tensor<?x?x2x64xf16>
!l = tensor<?x2x?xf32>
!a = tensor<?x1x1x?xf32>
!b = tensor<2x?xf16>
!c = tensor<2xf32>
!d = tensor<1xf32>
func.func @rows(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !l, %do: !q, %a: !a, %b: !b, %c: !c, %d: !d) -> (!q, !q, !q, !a, !b, !c, !d) {
  %dq, %dk, %dv, %da, %db, %dc, %dd = attention.backward %q, %k, %v, %o, %lse, %do aux(%a, %b, %c, %d : !a, !b, !c, !d) grad_aux [0, 1, 2, 3] layout bshd
    mods [#attention.bias<aux = 0>, #attention.alibi<aux = 2>, #attention.window<left = 30, right = 4>]
    : (!q, !q, !q, !q, !l, !q) -> (!q, !q, !q, !a, !b, !c, !d)
    score_mod (%s, %b0, %h, %i, %j) {
      %zero = arith.constant 0 : index
      %x = tensor.extract %b[%h, %i] : !b
      %t = tensor.extract %d[%zero] : !d
      %wide = arith.extf %x : f16 to f32
      %r = arith.mulf %s, %t : f32
      %y = arith.addf %r, %wide : f32
      attention.yield %y : f32
    }
  return %dq, %dk, %dv, %da, %db, %dc, %dd : !q, !q, !q, !a, !b, !c, !d
}

//--- extent.mlir
!q = tensor<?x?x2x64xf16>
!l = tensor<?x2x?xf32>
!a = tensor<?xf32>
func.func @extent(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !l, %do: !q, %a: !a) -> (!q, !q, !q) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do aux(%a : !a) layout bshd
    : (!q, !q, !q, !q, !l, !q) -> (!q, !q, !q)
    mask_mod (%b, %h, %i, %j) {
      %zero = arith.constant 0 : index
      %n = tensor.dim %a, %zero : !a
      %far = arith.addi %i, %n : index
      %x = tensor.extract %a[%zero] : !a
      %keep = arith.cmpi sle, %j, %far : index
      attention.yield %keep : i1
    }
  return %dq, %dk, %dv : !q, !q, !q
}

//--- wrong.mlir
!q = tensor<?x2x?x64xf16>
!l = tensor<?x2x?xf32>
!a = tensor<2x?x?xf32>
func.func @wrong(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !l, %do: !q, %a: !a) -> (!q, !q, !q, !a) {
  %g:4 = attention.backward %q, %k, %v, %o, %lse, %do aux(%a : !a) grad_aux [0]
    : (!q, !q, !q, !q, !l, !q) -> (!q, !q, !q, !a)
    score_mod (%s, %b, %h, %i, %j) {
      %x = tensor.extract %a[%h, %i, %j] : !a
      %y = arith.addf %s, %x : f32
      attention.yield %y : f32
    }
    score_grad (%s, %d, %b, %h, %i, %j) {
      %n = arith.negf %d : f32
      attention.yield %d, %n : f32, f32
    }
  return %g#0, %g#1, %g#2, %g#3 : !q, !q, !q, !a
}

//--- forward.mlir
!q = tensor<?x?x?x64xbf16>
!a = tensor<?xf32>
func.func @forward(%q: !q, %k: !q, %v: !q, %slopes: !a) -> !q {
  %o = attention.forward %q, %k, %v aux(%slopes : !a) scale 0.2 mods [#attention.alibi<aux = 0>, #attention.causal] : (!q, !q, !q) -> !q
  return %o : !q
}
