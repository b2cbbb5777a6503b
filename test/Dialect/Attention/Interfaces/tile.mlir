// Tiles by upstream's transform dialect. test/Embedding/tiles.mlir compares values.
// RUN: %mlir_fa3 %s -split-input-file -transform-interpreter -canonicalize -cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Two groups of heads, 64 queries: the mask counts queries from the first of all
// on, and knows how many there are.
// CHECK-DAG: #[[BY4:.*]] = affine_map<(d0) -> (d0 * 4)>
// CHECK-DAG: #[[BY64:.*]] = affine_map<(d0) -> (d0 * 64)>
// CHECK-DAG: #[[BY2:.*]] = affine_map<(d0) -> (d0 * 2)>
// CHECK-LABEL: func.func @causal
// CHECK-SAME: (%[[Q:.*]]: tensor<2x8x256x64xf16>, %[[K:.*]]: tensor<2x4x384x64xf16>, %{{.*}}: tensor<2x4x384x64xf16>)
// CHECK: %[[C256:.*]] = arith.constant 256 : index
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %[[M:.*]]) in (2, 2, 4) shared_outs(%[[O:.*]] = %{{.*}}, %[[LSE:.*]] = %{{.*}})
// CHECK-DAG: %[[HEAD:.*]] = affine.apply #[[BY4]](%[[H]])
// CHECK-DAG: %[[ROW:.*]] = affine.apply #[[BY64]](%[[M]])
// CHECK-DAG: %[[KEYHEAD:.*]] = affine.apply #[[BY2]](%[[H]])
// CHECK-DAG: tensor.extract_slice %[[Q]][%[[B]], %[[HEAD]], %[[ROW]], 0] [1, 4, 64, 64]
// CHECK-DAG: tensor.extract_slice %[[K]][%[[B]], %[[KEYHEAD]], 0, 0] [1, 2, 384, 64]
// CHECK: attention.forward %{{.*}} : (tensor<1x4x64x64xf16>, tensor<1x2x384x64xf16>, tensor<1x2x384x64xf16>) -> (tensor<1x4x64x64xf16>, tensor<1x4x64xf32>)
// CHECK-NEXT: mask_mod (%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) {
// CHECK-NEXT: %[[AT:.*]] = arith.addi %[[I]], %[[ROW]]
// CHECK-NEXT: %[[KEYS:.*]] = attention.length key
// CHECK-NEXT: %[[OFF:.*]] = arith.subi %[[KEYS]], %[[C256]]
// CHECK-NEXT: %[[LAST:.*]] = arith.addi %[[AT]], %[[OFF]]
// CHECK-NEXT: arith.cmpi sle, %[[J]], %[[LAST]]
// CHECK: tensor.parallel_insert_slice %{{.*}} into %[[O]][%[[B]], %[[HEAD]], %[[ROW]], 0] [1, 4, 64, 64]
// CHECK: tensor.parallel_insert_slice %{{.*}} into %[[LSE]][%[[B]], %[[HEAD]], %[[ROW]]] [1, 4, 64]
func.func @causal(%q: tensor<2x8x256x64xf16>, %k: tensor<2x4x384x64xf16>, %v: tensor<2x4x384x64xf16>) -> (tensor<2x8x256x64xf16>, tensor<2x8x256xf32>) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal] : (tensor<2x8x256x64xf16>, tensor<2x4x384x64xf16>, tensor<2x4x384x64xf16>) -> (tensor<2x8x256x64xf16>, tensor<2x8x256xf32>)
  return %o, %lse : tensor<2x8x256x64xf16>, tensor<2x8x256xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attention.forward"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 4, 64] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// By heads alone masks keep their names, and a tile of part of a group has one
// key head. Extents that are not known are those of q.
// CHECK-LABEL: func.func @heads
// CHECK: scf.forall (%[[H:.*]]) in (4) shared_outs
// CHECK-DAG: %[[HEAD:.*]] = affine.apply #{{.*}}(%[[H]])
// CHECK-DAG: %[[KEYHEAD:.*]] = affine.apply #{{.*}}(%[[H]])
// CHECK-DAG: tensor.extract_slice %arg0[0, 0, %[[HEAD]], 0] [%{{.*}}, %{{.*}}, 2, 64]
// CHECK-DAG: tensor.extract_slice %arg1[0, 0, %[[KEYHEAD]], 0] [%{{.*}}, %{{.*}}, 1, 64]
// CHECK-DAG: tensor.extract_slice %arg3[%[[HEAD]]] [2] [1]
// CHECK: attention.forward %{{.*}} sinks(%{{.*}} : tensor<2xf32>) group 2 layout bshd mods [#attention.causal, #attention.softcap<5.0{{.*}}>]
func.func @heads(%q: tensor<?x?x8x64xf16>, %k: tensor<?x?x2x64xf16>, %v: tensor<?x?x2x64xf16>, %sinks: tensor<8xf32>) -> tensor<?x?x8x64xf16> {
  %o = attention.forward %q, %k, %v sinks(%sinks : tensor<8xf32>) group 4 layout bshd mods [#attention.causal, #attention.softcap<5.0>] : (tensor<?x?x8x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>) -> tensor<?x?x8x64xf16>
  return %o : tensor<?x?x8x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attention.forward"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [0, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Fused into what uses it.
// CHECK-LABEL: func.func @consumer
// CHECK-NOT: attention.forward
// CHECK: scf.forall
// CHECK: attention.forward {{.*}} -> tensor<1x2x256x64xf16>
// CHECK: linalg.add ins(%{{.*}} : tensor<1x2x256x64xf16>
// CHECK: scf.forall.in_parallel
func.func @consumer(%q: tensor<2x8x256x64xf16>, %k: tensor<2x8x384x64xf16>, %v: tensor<2x8x384x64xf16>, %x: tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16> {
  %o = attention.forward %q, %k, %v : (tensor<2x8x256x64xf16>, tensor<2x8x384x64xf16>, tensor<2x8x384x64xf16>) -> tensor<2x8x256x64xf16>
  %e = tensor.empty() : tensor<2x8x256x64xf16>
  %y = linalg.add ins(%o, %x : tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) outs(%e : tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16>
  return %y : tensor<2x8x256x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %add = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %add tile_sizes [1, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %op = transform.structured.match ops{["attention.forward"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused, %new = transform.structured.fuse_into_containing_op %op into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// CHECK-LABEL: func.func @merge
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]]) in (2, 4)
// CHECK: %[[HEAD:.*]] = affine.apply #{{.*}}(%[[H]])
// CHECK-DAG: tensor.extract_slice %arg0[0, %[[B]], 0, %[[HEAD]], 0] [3, 1, 100, 8, 64]
// CHECK-DAG: tensor.extract_slice %arg1[0, %[[B]], %[[HEAD]], 0] [3, 1, 8, 100]
// CHECK: attention.merge {{.*}} layout bshd : tensor<3x1x100x8x64xf32>, tensor<3x1x8x100xf32> -> tensor<1x100x8x64xf16>, tensor<1x8x100xf32>
// CHECK-DAG: tensor.parallel_insert_slice %{{.*}} into %{{.*}}[%[[B]], 0, %[[HEAD]], 0] [1, 100, 8, 64]
// CHECK-DAG: tensor.parallel_insert_slice %{{.*}} into %{{.*}}[%[[B]], %[[HEAD]], 0] [1, 8, 100]
func.func @merge(%parts: tensor<3x2x100x32x64xf32>, %lses: tensor<3x2x32x100xf32>) -> (tensor<2x100x32x64xf16>, tensor<2x32x100xf32>) {
  %o, %lse = attention.merge %parts, %lses layout bshd : tensor<3x2x100x32x64xf32>, tensor<3x2x32x100xf32> -> tensor<2x100x32x64xf16>, tensor<2x32x100xf32>
  return %o, %lse : tensor<2x100x32x64xf16>, tensor<2x32x100xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attention.merge"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Both parts of a query.
// CHECK-LABEL: func.func @qv
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]]) in (2, 2)
// CHECK-DAG: %[[HEAD:.*]] = affine.apply #{{.*}}(%[[H]])
// CHECK-DAG: %[[Q:.*]] = tensor.extract_slice %arg0[%[[B]], %[[HEAD]], 0, 0] [1, 4, 16, 64]
// CHECK-DAG: %[[QV:.*]] = tensor.extract_slice %arg3[%[[B]], %[[HEAD]], 0, 0] [1, 4, 16, 128]
// CHECK: attention.forward %[[Q]], %{{.*}}, %{{.*}} qv(%[[QV]] : tensor<1x4x16x128xf16>)
!q = tensor<2x8x16x64xf16>
!k = tensor<2x1x384x64xf16>
!v = tensor<2x1x384x128xf16>
!o = tensor<2x8x16x128xf16>
func.func @qv(%q: !q, %k: !k, %v: !v, %qv: !o) -> !o {
  %o = attention.forward %q, %k, %v qv(%qv : !o) : (!q, !k, !v) -> !o
  return %o : !o
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attention.forward"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
