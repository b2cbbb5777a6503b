// RUN: fa3-opt %s | fa3-opt | FileCheck %s

// Gradients with 8-bit copies: the least, and behind and in front of other
// clauses.

!q = tensor<2x8x?x64xbf16>
!k = tensor<2x2x?x64xbf16>
!l = tensor<2x8x?xf32>
!q8 = tensor<2x8x?x64xf8E4M3FN>
!k8 = tensor<2x2x?x64xf8E4M3FN>
!s = tensor<1x1x1xf32>
!h = tensor<2x2x1xf32>

// CHECK-LABEL: func.func @copies(
func.func @copies(%q: !q, %k: !k, %l: !l, %q8: !q8, %k8: !k8, %s: !s, %h: !h, %slopes: tensor<8xf32>, %scale: f32) {
  // CHECK: attention.backward %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} quantized(%[[Q:.*]], %[[K:.*]], %[[K]], %[[Q]] : tensor<2x8x?x64xf8E4M3FN>, tensor<2x2x?x64xf8E4M3FN>, tensor<2x2x?x64xf8E4M3FN>, tensor<2x8x?x64xf8E4M3FN>) scales(%[[S:.*]], %[[H:.*]], %[[H]], %[[S]] : tensor<1x1x1xf32>, tensor<2x2x1xf32>, tensor<2x2x1xf32>, tensor<1x1x1xf32>) : (tensor<2x8x?x64xbf16>,
  %a:3 = attention.backward %q, %k, %k, %q, %l, %q quantized(%q8, %k8, %k8, %q8 : !q8, !k8, !k8, !q8) scales(%s, %h, %h, %s : !s, !h, !h, !s)
    : (!q, !k, !k, !q, !l, !q) -> (!q, !k, !k)
  // CHECK: attention.backward {{.*}} dlse %{{.*}} quantized({{.*}}) scales({{.*}}) aux(%{{.*}} : tensor<8xf32>) scale %{{.*}} group 4 mods [#attention.causal, #attention.alibi<aux = 0>] :
  %b:3 = attention.backward %q, %k, %k, %q, %l, %q dlse %l quantized(%q8, %k8, %k8, %q8 : !q8, !k8, !k8, !q8) scales(%s, %h, %h, %s : !s, !h, !h, !s)
    aux(%slopes : tensor<8xf32>) scale %scale group 4 mods [#attention.causal, #attention.alibi<aux = 0>]
    : (!q, !k, !k, !q, !l, !q, !l) -> (!q, !k, !k)
  return
}
