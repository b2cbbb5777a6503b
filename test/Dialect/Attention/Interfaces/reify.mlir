// Extents of results come from operands.
// RUN: %mlir_fa3 %s -resolve-ranked-shaped-type-result-dims -canonicalize -cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// The last extent is that of v, the others are those of q; lse has heads in
// front of queries.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: (%[[Q:[a-z0-9]+]]: tensor<?x?x?x64xf16>, %{{.*}}: tensor<?x?x?x64xf16>, %{{.*}}: tensor<?x?x?x32xf16>)
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[ROWS:.*]] = tensor.dim %[[Q]], %[[C1]]
// CHECK-DAG: %[[HEADS:.*]] = tensor.dim %[[Q]], %[[C2]]
// CHECK: return %[[ROWS]], %[[HEADS]], %[[HEADS]], %[[ROWS]]
func.func @forward(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x32xf16>) -> (index, index, index, index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %o, %lse = attention.forward %q, %k, %v layout bshd : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x32xf16>) -> (tensor<?x?x?x32xf16>, tensor<?x?x?xf32>)
  %0 = tensor.dim %o, %c1 : tensor<?x?x?x32xf16>
  %1 = tensor.dim %o, %c2 : tensor<?x?x?x32xf16>
  %2 = tensor.dim %lse, %c1 : tensor<?x?x?xf32>
  %3 = tensor.dim %lse, %c2 : tensor<?x?x?xf32>
  return %0, %1, %2, %3 : index, index, index, index
}

// CHECK-LABEL: func.func @packed
// CHECK-SAME: (%[[Q:[a-z0-9]+]]: tensor<?x8x64xf16>,
// CHECK: %[[ROWS:.*]] = tensor.dim %[[Q]], %c0
// CHECK: return %[[ROWS]], %[[ROWS]]
func.func @packed(%q: tensor<?x8x64xf16>, %k: tensor<?x8x64xf16>, %starts: tensor<?xi32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %o, %lse = attention.forward %q, %k, %k aux(%starts : tensor<?xi32>) layout bshd mods [#attention.packed<q = 0, k = 0>] : (tensor<?x8x64xf16>, tensor<?x8x64xf16>, tensor<?x8x64xf16>) -> (tensor<?x8x64xf16>, tensor<8x?xf32>)
  %0 = tensor.dim %o, %c0 : tensor<?x8x64xf16>
  %1 = tensor.dim %lse, %c1 : tensor<8x?xf32>
  return %0, %1 : index, index
}

// CHECK-LABEL: func.func @others
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<?x4x?x64xf16>, %[[CACHE:[a-z0-9]+]]: tensor<?x4x?x64xf16>,
// CHECK-SAME: %[[PARTS:[a-z0-9]+]]: tensor<?x?x4x?x64xf32>, %[[LSES:[a-z0-9]+]]: tensor<?x?x4x?xf32>
// CHECK-DAG: %[[A:.*]] = tensor.dim %[[X]], %c2
// CHECK-DAG: %[[B:.*]] = tensor.dim %[[CACHE]], %c2
// CHECK-DAG: %[[C:.*]] = tensor.dim %[[PARTS]], %c3
// CHECK-DAG: %[[D:.*]] = tensor.dim %[[LSES]], %c3
// CHECK: return %[[A]], %[[B]], %[[C]], %[[D]]
func.func @others(%x: tensor<?x4x?x64xf16>, %cache: tensor<?x4x?x64xf16>, %parts: tensor<?x?x4x?x64xf32>, %lses: tensor<?x?x4x?xf32>, %cos: tensor<?x32xf32>, %first: tensor<?xi32>) -> (index, index, index, index) {
  %c2 = arith.constant 2 : index
  %y = attention.rotary %x, %cos, %cos at %first : tensor<?x4x?x64xf16>, tensor<?x32xf32>, tensor<?xi32>
  %k = attention.append %y, %cache at %first : tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16>, tensor<?xi32>
  %o, %lse = attention.merge %parts, %lses : tensor<?x?x4x?x64xf32>, tensor<?x?x4x?xf32> -> tensor<?x4x?x64xf16>, tensor<?x4x?xf32>
  %0 = tensor.dim %y, %c2 : tensor<?x4x?x64xf16>
  %1 = tensor.dim %k, %c2 : tensor<?x4x?x64xf16>
  %2 = tensor.dim %o, %c2 : tensor<?x4x?x64xf16>
  %3 = tensor.dim %lse, %c2 : tensor<?x4x?xf32>
  return %0, %1, %2, %3 : index, index, index, index
}

// CHECK-LABEL: func.func @backward
// CHECK-SAME: (%[[Q:[a-z0-9]+]]: tensor<2x4x?x64xf16>, %[[K:[a-z0-9]+]]: tensor<2x4x?x64xf16>,
// CHECK-DAG: %[[A:.*]] = tensor.dim %[[Q]], %c2
// CHECK-DAG: %[[B:.*]] = tensor.dim %[[K]], %c2
// CHECK: return %[[A]], %[[B]]
func.func @backward(%q: tensor<2x4x?x64xf16>, %k: tensor<2x4x?x64xf16>, %o: tensor<2x4x?x64xf16>, %lse: tensor<2x4x?xf32>) -> (index, index) {
  %c2 = arith.constant 2 : index
  %dq, %dk, %dv = attention.backward %q, %k, %k, %o, %lse, %o : (tensor<2x4x?x64xf16>, tensor<2x4x?x64xf16>, tensor<2x4x?x64xf16>, tensor<2x4x?x64xf16>, tensor<2x4x?xf32>, tensor<2x4x?x64xf16>) -> (tensor<2x4x?x64xf16>, tensor<2x4x?x64xf16>, tensor<2x4x?x64xf16>)
  %0 = tensor.dim %dq, %c2 : tensor<2x4x?x64xf16>
  %1 = tensor.dim %dv, %c2 : tensor<2x4x?x64xf16>
  return %0, %1 : index, index
}
