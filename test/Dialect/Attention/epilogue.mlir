// Code on the output, and its gradient; o as it was beside it.
// RUN: fa3-opt %s | fa3-opt | FileCheck %s
// RUN: fa3-opt %s -mlir-print-op-generic | fa3-opt | FileCheck %s
// RUN: fa3-opt %s "--attention-differentiate=functions=gated grad-aux=0" | fa3-opt --attention-derive-gradient | FileCheck %s --check-prefix=GRADIENT

!t = tensor<1x2x?x64xf16>
!e = tensor<1x2x?x64xf8E4M3FN>
!l = tensor<1x2x?xf32>

// The forward of gradients keeps lse and o as it was; the gradient of both
// factors, each by what the other one is.
// CHECK-LABEL: func.func @gated
// CHECK: attention.forward %{{.*}} aux(%[[G:.*]] : tensor<1x2x?x64xf16>) :
// CHECK-NEXT: epilogue (%[[X:.*]], %[[B:.*]], %[[H:.*]], %[[I:.*]], %[[C:.*]]) {
// CHECK-NEXT: tensor.extract %[[G]][%[[B]], %[[H]], %[[I]], %[[C]]]
// GRADIENT-LABEL: func.func @gated(
// GRADIENT-SAME: -> (tensor<1x2x?x64xf16>, tensor<1x2x?xf32>, tensor<1x2x?x64xf16>)
// GRADIENT: attention.forward {{.*}} plain :
// GRADIENT: func.func @gated_backward(
// GRADIENT: attention.backward %{{.*}} grad_aux [0]
// GRADIENT: epilogue (
// GRADIENT: epilogue_grad (%[[X:.*]], %[[DY:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// GRADIENT: %[[W:.*]] = arith.extf
// GRADIENT-DAG: %[[DX:.*]] = arith.mulf %[[DY]], %[[W]] {{.*}} : f32
// GRADIENT-DAG: %[[DG:.*]] = arith.mulf %[[DY]], %[[X]] {{.*}} : f32
// GRADIENT: attention.yield %[[DX]], %[[DG]] : f32, f32
func.func @gated(%q: !t, %gate: !t) -> !t {
  %o = attention.forward %q, %q, %q aux(%gate : !t) : (!t, !t, !t) -> !t
    epilogue (%x, %b, %h, %i, %c) {
      %g = tensor.extract %gate[%b, %h, %i, %c] : !t
      %wide = arith.extf %g : f16 to f32
      %y = arith.mulf %x, %wide : f32
      attention.yield %y : f32
    }
  return %o : !t
}

// CHECK-LABEL: func.func private @others
// CHECK: attention.forward %{{.*}} transposed_v plain mods [#attention.causal] :
// CHECK-SAME: -> (tensor<1x2x?x64xf8E4M3FN>, tensor<1x2x?xf32>, tensor<1x2x?x64xf16>)
// CHECK-NEXT: keep_mod
// CHECK: epilogue (
// CHECK: attention.backward
// CHECK: score_mod
// CHECK: epilogue (
// CHECK: epilogue_grad (%{{.*}}, %[[DY:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NEXT: attention.yield %[[DY]] : f32
func.func private @others(%q: !t, %v: tensor<1x2x64x?xf16>, %lse: !l) {
  %r:3 = attention.forward %q, %q, %v transposed_v plain mods [#attention.causal]
    : (!t, !t, tensor<1x2x64x?xf16>) -> (!e, !l, !t)
    keep_mod (%b, %h, %i, %j) {
      %keep = arith.cmpi ne, %j, %i : index
      attention.yield %keep : i1
    }
    epilogue (%x, %b, %h, %i, %c) {
      %y = arith.negf %x : f32
      attention.yield %y : f32
    }
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
    score_mod (%s, %b, %h, %i, %j) {
      attention.yield %s : f32
    }
    epilogue (%x, %b, %h, %i, %c) {
      attention.yield %x : f32
    }
    epilogue_grad (%x, %dy, %b, %h, %i, %c) {
      attention.yield %dy : f32
    }
  return
}
