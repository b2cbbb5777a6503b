// Upstream's sharding propagation and partition.
// RUN: %mlir_fa3 %s -split-input-file --pass-pipeline='builtin.module(func.func(sharding-propagation))' | FileCheck %s --check-prefix=SPREAD
// RUN: %mlir_fa3 %s -split-input-file --pass-pipeline='builtin.module(func.func(sharding-propagation,shard-partition,canonicalize,cse))' | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Heads and queries: keys have the heads of the queries. The mask counts queries
// from the first of all on, and knows how many there are.
// SPREAD-LABEL: func.func @causal
// SPREAD: %[[KEYS:.*]] = shard.sharding @grid split_axes = {{\[\[}}], [1]] : !shard.sharding
// SPREAD-NEXT: shard.shard %arg1 to %[[KEYS]] annotate_for_users
// SPREAD: attention.forward
// SPREAD-DAG: %[[LSE:.*]] = shard.sharding @grid split_axes = {{\[\[}}], [1], [0]] : !shard.sharding
// SPREAD-DAG: shard.shard %lse to %[[LSE]] : tensor<2x8x256xf32>
// SPREAD-DAG: shard.shard %o to %{{.*}} : tensor<2x8x256x64xf16>
// CHECK-LABEL: func.func @causal
// CHECK-SAME: (%[[Q:.*]]: tensor<2x2x128x64xf16>, %[[K:.*]]: tensor<2x1x384x64xf16>, %[[V:.*]]: tensor<2x1x384x64xf16>) -> (tensor<2x2x128x64xf16>, tensor<2x2x128xf32>)
// CHECK-DAG: %[[C128:.*]] = arith.constant 128 : index
// CHECK-DAG: %[[C256:.*]] = arith.constant 256 : index
// CHECK: %[[DEVICE:.*]] = shard.process_multi_index on @grid axes = [0] : index
// CHECK: %[[ROW:.*]] = arith.muli %[[DEVICE]], %[[C128]]
// CHECK: attention.forward %[[Q]], %[[K]], %[[V]] : (tensor<2x2x128x64xf16>, tensor<2x1x384x64xf16>, tensor<2x1x384x64xf16>) -> (tensor<2x2x128x64xf16>, tensor<2x2x128xf32>)
// CHECK-NEXT: mask_mod (%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) {
// CHECK-NEXT: %[[AT:.*]] = arith.addi %[[I]], %[[ROW]]
// CHECK-NEXT: %[[KEYS:.*]] = attention.length key
// CHECK-NEXT: %[[OFF:.*]] = arith.subi %[[KEYS]], %[[C256]]
// CHECK-NEXT: %[[LAST:.*]] = arith.addi %[[AT]], %[[OFF]]
// CHECK-NEXT: arith.cmpi sle, %[[J]], %[[LAST]]
shard.grid @grid(shape = 2x4)
func.func @causal(%q: tensor<2x8x256x64xf16>, %k: tensor<2x4x384x64xf16>, %v: tensor<2x4x384x64xf16>) -> (tensor<2x8x256x64xf16>, tensor<2x8x256xf32>) {
  %s = shard.sharding @grid split_axes = [[], [1], [0]] : !shard.sharding
  %p = shard.shard %q to %s : tensor<2x8x256x64xf16>
  %o, %lse = attention.forward %p, %k, %v mods [#attention.causal] : (tensor<2x8x256x64xf16>, tensor<2x4x384x64xf16>, tensor<2x4x384x64xf16>) -> (tensor<2x8x256x64xf16>, tensor<2x8x256xf32>)
  return %o, %lse : tensor<2x8x256x64xf16>, tensor<2x8x256xf32>
}

// -----

// From the result on, by batches and heads: masks keep their names, sinks are those
// of the heads, auxiliary operands are everywhere. The region counts batches and
// heads from the first of all on, in the order of the axes.
// CHECK-LABEL: func.func @code
// CHECK-SAME: (%{{.*}}: tensor<1x?x2x64xf16>, %{{.*}}: tensor<1x?x2x64xf16>, %{{.*}}: tensor<1x?x2x64xf16>, %{{.*}}: tensor<2xf32>, %[[N:.*]]: tensor<4xi32>)
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
// CHECK: %[[AXES:.*]]:2 = shard.process_multi_index on @grid axes = [0, 1]
// CHECK: %[[BATCH:.*]] = affine.apply
// CHECK: %[[DEVICE:.*]] = shard.process_multi_index on @grid axes = [2]
// CHECK: %[[HEAD:.*]] = arith.muli %[[DEVICE]], %[[C2]]
// CHECK: attention.forward {{.*}} aux(%[[N]] : tensor<4xi32>) sinks(%{{.*}} : tensor<2xf32>) layout bshd mods [#attention.causal]
// CHECK-NEXT: score_mod (%[[X:.*]], %[[B:.*]], %[[H:.*]], %{{.*}}, %{{.*}}) {
// CHECK-DAG: %[[B1:.*]] = arith.addi %[[B]], %[[BATCH]]
// CHECK-DAG: %[[H1:.*]] = arith.addi %[[H]], %[[HEAD]]
// CHECK: tensor.extract %[[N]][%[[B1]]]
// CHECK: arith.index_cast %[[H1]]
shard.grid @grid(shape = 2x2x4)
func.func @code(%q: tensor<4x?x8x64xf16>, %k: tensor<4x?x8x64xf16>, %v: tensor<4x?x8x64xf16>, %sinks: tensor<8xf32>, %n: tensor<4xi32>) -> tensor<4x?x8x64xf16> {
  %o = attention.forward %q, %k, %v aux(%n : tensor<4xi32>) sinks(%sinks : tensor<8xf32>) layout bshd mods [#attention.causal] : (tensor<4x?x8x64xf16>, tensor<4x?x8x64xf16>, tensor<4x?x8x64xf16>) -> tensor<4x?x8x64xf16>
    score_mod (%x, %b, %h, %i, %j) {
      %a = tensor.extract %n[%b] : tensor<4xi32>
      %c = arith.index_cast %h : index to i32
      %d = arith.addi %a, %c : i32
      %e = arith.sitofp %d : i32 to f32
      %f = arith.addf %x, %e : f32
      attention.yield %f : f32
    }
  %s = shard.sharding @grid split_axes = [[0, 1], [], [2]] : !shard.sharding
  %p = shard.shard %o to %s : tensor<4x?x8x64xf16>
  return %p : tensor<4x?x8x64xf16>
}

// -----

// One key head is that of all: every device has it.
// CHECK-LABEL: func.func @one_key_head
// CHECK-SAME: (%{{.*}}: tensor<?x2x?x64xf16>, %{{.*}}: tensor<?x1x?x64xf16>
// CHECK: attention.forward {{.*}} group 2
shard.grid @grid(shape = 4)
func.func @one_key_head(%q: tensor<?x8x?x64xf16>, %k: tensor<?x1x?x64xf16>) -> tensor<?x8x?x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %p = shard.shard %q to %s : tensor<?x8x?x64xf16>
  %whole = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %r = shard.shard %k to %whole : tensor<?x1x?x64xf16>
  %o = attention.forward %p, %r, %r group 8 : (tensor<?x8x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x1x?x64xf16>) -> tensor<?x8x?x64xf16>
  return %o : tensor<?x8x?x64xf16>
}

// -----

// Parts of a sequence: keys are gathered. How many queries there are is known
// when the program runs, on a grid of any size.
// CHECK-LABEL: func.func @sequences
// CHECK-SAME: (%[[Q:.*]]: tensor<1x8x?x64xf16>, %[[K:.*]]: tensor<1x8x?x64xf16>)
// CHECK: %[[ALL:.*]] = shard.all_gather %[[K]] on @grid grid_axes = [0] gather_axis = 2
// CHECK: %[[DEVICE:.*]] = shard.process_multi_index on @grid axes = [0]
// CHECK: %[[ROWS:.*]] = tensor.dim %[[Q]], %{{.*}}
// CHECK: %[[FIRST:.*]] = arith.muli %[[DEVICE]], %[[ROWS]]
// CHECK: %[[DEVICES:.*]] = shard.grid_shape @grid axes = [0]
// CHECK: %[[QUERIES:.*]] = arith.muli %[[ROWS]], %[[DEVICES]]
// CHECK: attention.forward %[[Q]], %[[ALL]], %[[ALL]] :
// CHECK: arith.addi %{{.*}}, %[[FIRST]]
// CHECK: arith.subi %{{.*}}, %[[QUERIES]]
shard.grid @grid(shape = ?)
func.func @sequences(%q: tensor<1x8x?x64xf16>, %k: tensor<1x8x?x64xf16>) -> tensor<1x8x?x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %p = shard.shard %q to %s : tensor<1x8x?x64xf16>
  %r = shard.shard %k to %s : tensor<1x8x?x64xf16>
  %o = attention.forward %p, %r, %r mods [#attention.causal] : (tensor<1x8x?x64xf16>, tensor<1x8x?x64xf16>, tensor<1x8x?x64xf16>) -> tensor<1x8x?x64xf16>
  return %o : tensor<1x8x?x64xf16>
}

// -----

// Gradients, by batches and heads.
// CHECK-LABEL: func.func @gradients
// CHECK: attention.backward {{.*}} mods [#attention.causal] : (tensor<1x2x256x64xf16>, tensor<1x1x256x64xf16>, tensor<1x1x256x64xf16>, tensor<1x2x256x64xf16>, tensor<1x2x256xf32>, tensor<1x2x256x64xf16>) -> (tensor<1x2x256x64xf16>, tensor<1x1x256x64xf16>, tensor<1x1x256x64xf16>)
shard.grid @grid(shape = 2x4)
func.func @gradients(%q: tensor<2x8x256x64xf16>, %k: tensor<2x4x256x64xf16>, %v: tensor<2x4x256x64xf16>, %o: tensor<2x8x256x64xf16>, %lse: tensor<2x8x256xf32>, %do: tensor<2x8x256x64xf16>) -> (tensor<2x8x256x64xf16>, tensor<2x4x256x64xf16>, tensor<2x4x256x64xf16>) {
  %s = shard.sharding @grid split_axes = [[0], [1]] : !shard.sharding
  %p = shard.shard %q to %s : tensor<2x8x256x64xf16>
  %dq, %dk, %dv = attention.backward %p, %k, %v, %o, %lse, %do mods [#attention.causal]
    : (tensor<2x8x256x64xf16>, tensor<2x4x256x64xf16>, tensor<2x4x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256xf32>, tensor<2x8x256x64xf16>) -> (tensor<2x8x256x64xf16>, tensor<2x4x256x64xf16>, tensor<2x4x256x64xf16>)
  return %dq, %dk, %dv : tensor<2x8x256x64xf16>, tensor<2x4x256x64xf16>, tensor<2x4x256x64xf16>
}
