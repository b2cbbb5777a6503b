// RUN: fa3-opt %s -attention-quantize | FileCheck %s --check-prefix=LEFT
// RUN: fa3-opt %s -attention-quantize=gradients | FileCheck %s
// RUN: fa3-opt %s -attention-quantize="gradients hadamard scales=tensor format=f8E5M2" | FileCheck %s --check-prefix=ROTATED

// Without the option gradients stay as they are.
// LEFT-LABEL: func.func @backward(
// LEFT-NOT: attention.quantize
// LEFT-LABEL: func.func @given(

!q = tensor<2x4x300x64xbf16>
!k = tensor<2x2x?x64xbf16>
!l = tensor<2x4x300xf32>

// CHECK-LABEL: func.func @backward(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x4x300x64xbf16>, %[[K:[a-z0-9]+]]: tensor<2x2x?x64xbf16>, %[[V:[a-z0-9]+]]: tensor<2x2x?x64xbf16>, %[[O:[a-z0-9]+]]: tensor<2x4x300x64xbf16>, %{{.*}}: tensor<2x4x300xf32>, %[[DO:[a-z0-9]+]]: tensor<2x4x300x64xbf16>)
// CHECK: %[[Q8:.*]], %[[QS:.*]] = attention.quantize %[[Q]] : {{.*}} -> tensor<2x4x300x64xf8E4M3FN>, tensor<2x4x1xf32>
// CHECK: %[[K8:.*]], %[[KS:.*]] = attention.quantize %[[K]] : {{.*}} -> tensor<2x2x?x64xf8E4M3FN>, tensor<2x2x1xf32>
// CHECK: %[[V8:.*]], %[[VS:.*]] = attention.quantize %[[V]] : {{.*}} -> tensor<2x2x?x64xf8E4M3FN>, tensor<2x2x1xf32>
// CHECK: %[[DO8:.*]], %[[DOS:.*]] = attention.quantize %[[DO]] : {{.*}} -> tensor<2x4x300x64xf8E4M3FN>, tensor<2x4x1xf32>
// CHECK: attention.backward %[[Q]], %[[K]], %[[V]], %[[O]], %{{.*}}, %[[DO]] quantized(%[[Q8]], %[[K8]], %[[V8]], %[[DO8]] : {{.*}}) scales(%[[QS]], %[[KS]], %[[VS]], %[[DOS]] : {{.*}}) mods [#attention.causal]

// All four are rotated.
// ROTATED-LABEL: func.func @backward(
// ROTATED-SAME: %[[SIGNS:[a-z0-9]+]]: tensor<64xbf16> {tile.name = "signs"}) ->
// ROTATED-COUNT-4: attention.quantize %{{.*}} rotate %[[SIGNS]] : {{.*}}f8E5M2>, tensor<1x1x1xf32>
// ROTATED: attention.backward
func.func @backward(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !l, %do: !q) -> (!q, !k, !k) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do mods [#attention.causal]
    : (!q, !k, !k, !q, !l, !q) -> (!q, !k, !k)
  return %dq, %dk, %dv : !q, !k, !k
}

// What has copies stays.
!t = tensor<1x1x?x64xbf16>
!e = tensor<1x1x?x64xf8E4M3FN>
!s = tensor<1x1x1xf32>
// CHECK-LABEL: func.func @given(
// CHECK-NOT: attention.quantize
func.func @given(%q: !t, %l: tensor<1x1x?xf32>, %e: !e, %s: !s) -> (!t, !t, !t) {
  %dq, %dk, %dv = attention.backward %q, %q, %q, %q, %l, %q quantized(%e, %e, %e, %e : !e, !e, !e, !e) scales(%s, %s, %s, %s : !s, !s, !s, !s)
    : (!t, !t, !t, !t, tensor<1x1x?xf32>, !t) -> (!t, !t, !t)
  return %dq, %dk, %dv : !t, !t, !t
}
