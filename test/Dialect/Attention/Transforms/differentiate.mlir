// RUN: fa3-opt %s -attention-differentiate | FileCheck %s
// RUN: fa3-opt %s -attention-differentiate='functions=bias suffix=_grad grad-aux=1,0 dlse' | FileCheck %s --check-prefix=AUX

!q = tensor<?x4x?x64xbf16>
!k = tensor<?x2x?x64xbf16>
!l = tensor<?x4x?xf32>
!b = tensor<1x4x?x?xbf16>
!s = tensor<4xf32>

// lse is kept from now on; masks and scale are those of the forward.
// CHECK: func.func @causal(%{{.*}}) -> (tensor<?x4x?x64xbf16> {tile.name = "out"}, tensor<?x4x?xf32>) {
// CHECK: %[[O:.*]], %[[LSE:.*]] = attention.forward %{{.*}}, %{{.*}}, %{{.*}} scale 2.500000e-01 mods [#attention.causal]
// CHECK: return %[[O]], %[[LSE]]
// CHECK: func.func @causal_backward(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x4x?x64xbf16> {tile.name = "query"}, %[[K:[^:]*]]: tensor<?x2x?x64xbf16>, %[[V:[^:]*]]: tensor<?x2x?x64xbf16>,
// CHECK-SAME: %[[OUT:[^:]*]]: tensor<?x4x?x64xbf16> {tile.name = "out"}, %[[L:[^:]*]]: tensor<?x4x?xf32>, %[[G:[^:]*]]: tensor<?x4x?x64xbf16> {tile.name = "dout"})
// CHECK-SAME: -> (tensor<?x4x?x64xbf16> {tile.name = "dquery"}, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>)
// CHECK: %[[C:.*]] = arith.constant 2.500000e-01 : f32
// CHECK: %[[R0:.*]], %[[R1:.*]], %[[R2:.*]] = attention.backward %[[Q]], %[[K]], %[[V]], %[[OUT]], %[[L]], %[[G]] scale %[[C]] mods [#attention.causal]
// CHECK: return %[[R0]], %[[R1]], %[[R2]]
// AUX-LABEL: func.func @causal(
// AUX-NOT: @causal_
func.func @causal(%q: !q {tile.name = "query"}, %k: !k, %v: !k) -> (!q {tile.name = "out"}) {
  %o = attention.forward %q, %k, %v scale 0.25 mods [#attention.causal] : (!q, !k, !k) -> !q
  return %o : !q
}

// Score code with what it captures; splits are nothing to gradients.
// CHECK-LABEL: func.func @bias_backward(
// CHECK: %[[R0:.*]], %[[R1:.*]], %[[R2:.*]] = attention.backward {{.*}} aux(
// CHECK-NOT: grad_aux
// CHECK: score_mod
// AUX: func.func @bias_grad(
// AUX-SAME: %[[Q:[^:]*]]: tensor<?x4x?x64xbf16>, %[[K:[^:]*]]: tensor<?x2x?x64xbf16>, %[[SLOPES:[^:]*]]: tensor<4xf32> {tile.name = "slopes"}, %[[BIAS:[^:]*]]: tensor<1x4x?x?xbf16> {tile.name = "bias"}, %[[X:[^:]*]]: f32,
// AUX-SAME: %[[O:[^:]*]]: tensor<?x4x?x64xbf16>, %[[L:[^:]*]]: tensor<?x4x?xf32>, %[[G:[^:]*]]: tensor<?x4x?x64xbf16>, %[[GL:[^:]*]]: tensor<?x4x?xf32>)
// AUX-SAME: -> (tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<1x4x?x?xbf16> {tile.name = "dbias"}, tensor<4xf32> {tile.name = "dslopes"})
// AUX: %[[Y:.*]] = arith.addf %[[X]], %[[X]]
// AUX: attention.backward %[[Q]], %[[K]], %[[K]], %[[O]], %[[L]], %[[G]] dlse %[[GL]] aux(%[[SLOPES]], %[[BIAS]] : tensor<4xf32>, tensor<1x4x?x?xbf16>) grad_aux [1, 0] mods [#attention.alibi<aux = 0>, #attention.bias<aux = 1>]
// AUX: score_mod (%[[S:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// AUX-NEXT: arith.mulf %[[S]], %[[Y]]
func.func @bias(%q: !q, %k: !k, %slopes: !s {tile.name = "slopes"}, %bias: !b {tile.name = "bias"}, %x: f32) -> (!l, !q) {
  %y = arith.addf %x, %x : f32
  %two = arith.constant 2 : index
  %o, %lse = attention.forward %q, %k, %k aux(%slopes, %bias : !s, !b) splits %two
    mods [#attention.alibi<aux = 0>, #attention.bias<aux = 1>] : (!q, !k, !k) -> (!q, !l)
    score_mod (%s, %b, %h, %i, %j) {
      %t = arith.mulf %s, %y : f32
      attention.yield %t : f32
    }
  return %lse, %o : !l, !q
}

// Lengths and places are those of the forward; lse has no dimension of sequences.
// CHECK: func.func @packed(%{{.*}}) -> (tensor<?x4x64xbf16>, tensor<4x?xf32>) {
// CHECK: func.func @packed_backward(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x4x64xbf16>, %[[CU:[^:]*]]: tensor<?xi32>, %[[MAX:[^:]*]]: i32, %[[O:[^:]*]]: tensor<?x4x64xbf16>, %[[L:[^:]*]]: tensor<4x?xf32>, %[[G:[^:]*]]: tensor<?x4x64xbf16>)
// CHECK: %[[MOST:.*]] = arith.index_cast %[[MAX]]
// CHECK: %[[S:.*]] = attention.sequences max_q %[[MOST]]
// CHECK-NEXT: lengths (%{{.*}}) {
// CHECK: place_k (%[[B:.*]], %[[H:.*]], %[[J:.*]]) {
// CHECK: tensor.extract %[[CU]][%[[B]]]
// CHECK: attention.backward %[[Q]], %[[Q]], %[[Q]], %[[O]], %[[L]], %[[G]] aux(%[[CU]] : tensor<?xi32>) sequences %[[S]] layout bshd mods [#attention.packed<q = 0>]
func.func @packed(%q: tensor<?x4x64xbf16>, %cu: tensor<?xi32>, %max: i32) -> tensor<?x4x64xbf16> {
  %most = arith.index_cast %max : i32 to index
  %sequences = attention.sequences max_q %most
    lengths (%b) {
      %keys = attention.length key
      attention.yield %keys, %keys : index, index
    }
    place_k (%b, %h, %j) {
      %start = tensor.extract %cu[%b] : tensor<?xi32>
      %first = arith.index_cast %start : i32 to index
      %row = arith.addi %first, %j : index
      attention.yield %h, %row : index, index
    }
  %o = attention.forward %q, %q, %q aux(%cu : tensor<?xi32>) sequences %sequences layout bshd mods [#attention.packed<q = 0>]
    : (tensor<?x4x64xbf16>, tensor<?x4x64xbf16>, tensor<?x4x64xbf16>) -> tensor<?x4x64xbf16>
  return %o : tensor<?x4x64xbf16>
}

// Heads whose number only the launch knows, in groups that the compiler knows.
// CHECK-LABEL: func.func @group_backward(
// CHECK: attention.backward {{.*}} group 4 :
func.func @group(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16> {
  %o = attention.forward %q, %k, %k group 4 : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  return %o : tensor<?x?x?x64xbf16>
}
