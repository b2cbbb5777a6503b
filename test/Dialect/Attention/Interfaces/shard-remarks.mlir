// What is split along something that devices cannot share is gathered, and a remark
// says why.
// RUN: %mlir_fa3 %s --pass-pipeline='builtin.module(func.func(sharding-propagation))' --remarks-filter-missed=attention-sharding 2>&1 >/dev/null | FileCheck %s --implicit-check-not=remark:
// RUN: %mlir_fa3 %s --pass-pipeline='builtin.module(func.func(sharding-propagation,shard-partition))' | FileCheck %s --check-prefix=GATHERED
// SPDX-License-Identifier: Apache-2.0

!t = tensor<4x8x256x64xf16>
!lse = tensor<4x8x256xf32>
shard.grid @grid(shape = 4)

// CHECK: [[#@LINE+7]]:{{.*}} remark: {{.*}}is not split along keys as operand 1 is: parts of the keys take a merge
// GATHERED-LABEL: func.func @keys
// GATHERED: shard.all_gather %{{.*}} gather_axis = 2
// GATHERED: attention.forward {{.*}} : (tensor<4x8x256x64xf16>, tensor<4x8x256x64xf16>, tensor<4x8x256x64xf16>)
func.func @keys(%q: !t, %k: !t, %v: !t) -> !t {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %p = shard.shard %k to %s : !t
  %o = attention.forward %q, %p, %v : (!t, !t, !t) -> !t
  return %o : !t
}
// CHECK: [[#@LINE+6]]:{{.*}} remark: {{.*}}is not split along queries as operand 0 is: it has lists of blocks
// GATHERED-LABEL: func.func @lists
// GATHERED: shard.all_gather %{{.*}} gather_axis = 2
func.func @lists(%q: !t, %k: !t, %v: !t, %c: tensor<1x1x2xi32>, %i: tensor<1x1x2x2xi32>) -> !t {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %p = shard.shard %q to %s : !t
  %o = attention.forward %p, %k, %v aux(%c, %i : tensor<1x1x2xi32>, tensor<1x1x2x2xi32>) mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 128>] : (!t, !t, !t) -> !t
  return %o : !t
}
// CHECK: [[#@LINE+6]]:{{.*}} remark: {{.*}}is not split along queries as operand 0 is: its sequences have numbers of queries of their own
// GATHERED-LABEL: func.func @lengths
// GATHERED: shard.all_gather %{{.*}} gather_axis = 2
func.func @lengths(%q: !t, %k: !t, %v: !t, %n: tensor<4xi32>) -> !t {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %p = shard.shard %q to %s : !t
  %o = attention.forward %p, %k, %v aux(%n : tensor<4xi32>) mods [#attention.used<q = 0>] : (!t, !t, !t) -> !t
  return %o : !t
}
// CHECK: [[#@LINE+6]]:{{.*}} remark: {{.*}}is not split along queries as operand 0 is: gradients of keys are sums over queries
// GATHERED-LABEL: func.func @gradients
// GATHERED: shard.all_gather %{{.*}} gather_axis = 2
func.func @gradients(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !lse, %do: !t) -> (!t, !t, !t) {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %p = shard.shard %q to %s : !t
  %dq, %dk, %dv = attention.backward %p, %k, %v, %o, %lse, %do : (!t, !t, !t, !t, !lse, !t) -> (!t, !t, !t)
  return %dq, %dk, %dv : !t, !t, !t
}
// CHECK: [[#@LINE+6]]:{{.*}} remark: {{.*}}is not split along a dimension that others have not as operand 0 is: its sequences lie anywhere
// GATHERED-LABEL: func.func @packed
// GATHERED: shard.all_gather %{{.*}} gather_axis = 1
func.func @packed(%q: tensor<?x8x64xf16>, %k: tensor<?x8x64xf16>, %n: tensor<4xi32>) -> tensor<?x8x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %p = shard.shard %q to %s : tensor<?x8x64xf16>
  %o = attention.forward %p, %k, %k aux(%n : tensor<4xi32>) layout bshd mods [#attention.packed<q = 0, k = 0>] : (tensor<?x8x64xf16>, tensor<?x8x64xf16>, tensor<?x8x64xf16>) -> tensor<?x8x64xf16>
  return %o : tensor<?x8x64xf16>
}
