// A loop over tiles is not taken where integers that a tile reads, as the length of its sequence,
// leave no registers for its state: all of them would spill. A search among packed sequences is
// hidden by the loop, and spills only without a loop over heads around the steps.
// RUN: fa3-opt %s -fa3-tile=backward-form=split | FileCheck %s

// CHECK-LABEL: gpu.func @padded_dkdv
// CHECK-NOT: tile.share
// CHECK-LABEL: gpu.func @padded_dq
func.func @padded(%q: tensor<?x?x?x128xf16>, %k: tensor<?x?x?x128xf16>, %v: tensor<?x?x?x128xf16>, %o: tensor<?x?x?x128xf16>, %lse: tensor<?x?x?xf32>, %do: tensor<?x?x?x128xf16>, %used: tensor<?xi32>)
    -> (tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do aux(%used : tensor<?xi32>) mods [#attention.used<k = 0>, #attention.causal]
    : (tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xf16>)
    -> (tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>)
  return %dq, %dk, %dv : tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>
}

// CHECK-LABEL: gpu.func @packed_dkdv
// CHECK: tile.share
// CHECK: tile.claim
// CHECK-LABEL: gpu.func @packed_dq
func.func @packed(%q: tensor<?x?x128xf16>, %k: tensor<?x?x128xf16>, %v: tensor<?x?x128xf16>, %o: tensor<?x?x128xf16>, %lse: tensor<?x?xf32>, %do: tensor<?x?x128xf16>, %starts: tensor<?xi32>)
    -> (tensor<?x?x128xf16>, tensor<?x?x128xf16>, tensor<?x?x128xf16>) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do aux(%starts : tensor<?xi32>) mods [#attention.packed<q = 0, k = 0>, #attention.causal]
    : (tensor<?x?x128xf16>, tensor<?x?x128xf16>, tensor<?x?x128xf16>, tensor<?x?x128xf16>, tensor<?x?xf32>, tensor<?x?x128xf16>)
    -> (tensor<?x?x128xf16>, tensor<?x?x128xf16>, tensor<?x?x128xf16>)
  return %dq, %dk, %dv : tensor<?x?x128xf16>, tensor<?x?x128xf16>, tensor<?x?x128xf16>
}

// CHECK-LABEL: gpu.func @known_dkdv
// CHECK-NOT: tile.share
// CHECK-LABEL: gpu.func @known_dq
func.func @known(%q: tensor<2x?x128xf16>, %k: tensor<2x?x128xf16>, %v: tensor<2x?x128xf16>, %o: tensor<2x?x128xf16>, %lse: tensor<2x?xf32>, %do: tensor<2x?x128xf16>, %starts: tensor<?xi32>)
    -> (tensor<2x?x128xf16>, tensor<2x?x128xf16>, tensor<2x?x128xf16>) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do aux(%starts : tensor<?xi32>) mods [#attention.packed<q = 0, k = 0>, #attention.causal]
    : (tensor<2x?x128xf16>, tensor<2x?x128xf16>, tensor<2x?x128xf16>, tensor<2x?x128xf16>, tensor<2x?xf32>, tensor<2x?x128xf16>)
    -> (tensor<2x?x128xf16>, tensor<2x?x128xf16>, tensor<2x?x128xf16>)
  return %dq, %dk, %dv : tensor<2x?x128xf16>, tensor<2x?x128xf16>, tensor<2x?x128xf16>
}
