// Gradients whose scores and gradients of weights are products of 8-bit copies:
// values after every pass, compared with the definition in f64 on the same
// copies.

// RUN: split-file %s %t
// RUN: fa3-run --cpu --check-each-pass %t/given.mlir --dims b=1,h=2,hk=1,sq=70,sk=150 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass %t/causal.mlir --dims b=2,sq=100,sk=90,q_scale.0=2,k_scale.0=1,v_scale.0=2 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass %t/quantized.mlir --dims b=1,sq=70,sk=130 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass %t/dropped.mlir --dims b=1,h=1,hk=1,sq=40,sk=70 | FileCheck %s --check-prefix=SAME
// SAME: same answer after {{[0-9]+}} passes

// RUN: fa3-run --cpu --require-fences --pass-pipeline='builtin.module(fa3-tile,fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' %t/given.mlir --dims b=1,h=2,hk=1,sq=70,sk=150 | FileCheck %s
// CHECK: dq: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// CHECK: dk: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// CHECK: dv: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}

//--- given.mlir
// One scale for all, of arrays that are given.
!t = tensor<?x?x?x64xbf16>
!e = tensor<?x?x?x64xf8E4M3FN>
!l = tensor<?x?x?xf32>
!s = tensor<1x1x1xf32>
func.func @given(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %q8: !e, %k8: !e, %v8: !e, %do8: !e,
                 %qs: !s, %ks: !s, %vs: !s, %dos: !s) -> (!t, !t, !t) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
    quantized(%q8, %k8, %v8, %do8 : !e, !e, !e, !e) scales(%qs, %ks, %vs, %dos : !s, !s, !s, !s)
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return %dq, %dk, %dv : !t, !t, !t
}

//--- causal.mlir
// Scales that batches or heads have; unequal head dims, groups, a mask and
// score code.
!q = tensor<?x4x?x96xf16>
!k = tensor<?x2x?x96xf16>
!v = tensor<?x2x?x32xf16>
!o = tensor<?x4x?x32xf16>
!l = tensor<?x4x?xf32>
!q8 = tensor<?x4x?x96xf8E5M2>
!k8 = tensor<?x2x?x96xf8E5M2>
!v8 = tensor<?x2x?x32xf8E5M2>
!o8 = tensor<?x4x?x32xf8E5M2>
!s = tensor<?x2x1xf32>
!h = tensor<1x4x1xf32>
func.func @causal(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !l, %do: !o, %q8: !q8, %k8: !k8, %v8: !v8, %do8: !o8,
                  %qs: !s, %ks: !s, %vs: !s, %dos: !h) -> (!q, !k, !v) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
    quantized(%q8, %k8, %v8, %do8 : !q8, !k8, !v8, !o8) scales(%qs, %ks, %vs, %dos : !s, !s, !s, !h)
    mods [#attention.causal, #attention.softcap<30.0>]
    : (!q, !k, !v, !o, !l, !o) -> (!q, !k, !v)
  return %dq, %dk, %dv : !q, !k, !v
}

//--- quantized.mlir
// Copies that the program makes, rotated; q and k, v and do have one rotation
// each.
!q = tensor<?x4x?x128xbf16>
!k = tensor<?x2x?x128xbf16>
!l = tensor<?x4x?xf32>
!q8 = tensor<?x4x?x128xf8E4M3FN>
!k8 = tensor<?x2x?x128xf8E4M3FN>
!s = tensor<?x4x1xf32>
!h = tensor<?x2x1xf32>
!r = tensor<128xbf16>
func.func @quantized(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !l, %do: !q, %signs: !r) -> (!q, !k, !k) {
  %q8, %qs = attention.quantize %q rotate %signs : !r : !q -> !q8, !s
  %k8, %ks = attention.quantize %k rotate %signs : !r : !k -> !k8, !h
  %v8, %vs = attention.quantize %v : !k -> !k8, !h
  %do8, %dos = attention.quantize %do : !q -> !q8, !s
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
    quantized(%q8, %k8, %v8, %do8 : !q8, !k8, !k8, !q8) scales(%qs, %ks, %vs, %dos : !s, !h, !h, !s)
    mods [#attention.causal]
    : (!q, !k, !k, !q, !l, !q) -> (!q, !k, !k)
  return %dq, %dk, %dv : !q, !k, !k
}

//--- dropped.mlir
// Weights that are dropped have a factor of their own.
!t = tensor<?x?x?x64xbf16>
!e = tensor<?x?x?x64xf8E4M3FN>
!l = tensor<?x?x?xf32>
!s = tensor<1x1x1xf32>
func.func @dropped(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %q8: !e, %k8: !e, %v8: !e, %do8: !e,
                   %qs: !s, %ks: !s, %vs: !s, %dos: !s) -> (!t, !t, !t) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
    quantized(%q8, %k8, %v8, %do8 : !e, !e, !e, !e) scales(%qs, %ks, %vs, %dos : !s, !s, !s, !s)
    kept_scale 1.25
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
    keep_mod (%b, %h, %i, %j) {
      %five = arith.constant 5 : index
      %sum = arith.addi %i, %j : index
      %rest = arith.remui %sum, %five : index
      %none = arith.constant 0 : index
      %keep = arith.cmpi ne, %rest, %none : index
      attention.yield %keep : i1
    }
  return %dq, %dk, %dv : !t, !t, !t
}
