// What devices cannot share is gathered by propagation, with a remark, and refused
// by a partition that was told otherwise.
// RUN: %mlir_fa3 %s -split-input-file --pass-pipeline='builtin.module(func.func(shard-partition))' -mlir-print-op-on-diagnostic=false -verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

shard.grid @grid(shape = 4)
func.func @keys(%q: tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [], [0]] : !shard.sharding
  %w = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %p = shard.shard %q to %w : tensor<2x8x256x64xf16>
  %a = shard.shard %p to %w annotate_for_users : tensor<2x8x256x64xf16>
  %k = shard.shard %p to %s annotate_for_users : tensor<2x8x256x64xf16>
  // expected-error @below {{cannot be partitioned: operand 1 is split along keys, but parts of the keys take a merge}}
  %o = attention.forward %a, %k, %k : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16>
  %r = shard.shard %o to %w : tensor<2x8x256x64xf16>
  %u = shard.shard %r to %w annotate_for_users : tensor<2x8x256x64xf16>
  return %u : tensor<2x8x256x64xf16>
}

// -----

shard.grid @grid(shape = 4)
func.func @elements(%q: tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [], [], [0]] : !shard.sharding
  %w = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %p = shard.shard %q to %w : tensor<2x8x256x64xf16>
  %a = shard.shard %p to %s annotate_for_users : tensor<2x8x256x64xf16>
  // expected-error @below {{cannot be partitioned: operand 0 is split along elements, but only batches, heads and queries can be}}
  %o = attention.forward %a, %a, %a : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16>
  %r = shard.shard %o to %w : tensor<2x8x256x64xf16>
  %u = shard.shard %r to %w annotate_for_users : tensor<2x8x256x64xf16>
  return %u : tensor<2x8x256x64xf16>
}

// -----

shard.grid @grid(shape = 4)
func.func @heads(%q: tensor<2x8x256x64xf16>, %k: tensor<2x2x256x64xf16>) -> tensor<2x8x256x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %w = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %p = shard.shard %q to %s : tensor<2x8x256x64xf16>
  %a = shard.shard %p to %s annotate_for_users : tensor<2x8x256x64xf16>
  %l = shard.shard %k to %w : tensor<2x2x256x64xf16>
  %b = shard.shard %l to %w annotate_for_users : tensor<2x2x256x64xf16>
  // expected-error @below {{cannot be partitioned: operand 0 is split along heads, but there are 4 shards for 2 heads of keys or queries}}
  %o = attention.forward %a, %b, %b : (tensor<2x8x256x64xf16>, tensor<2x2x256x64xf16>, tensor<2x2x256x64xf16>) -> tensor<2x8x256x64xf16>
  %r = shard.shard %o to %s : tensor<2x8x256x64xf16>
  %u = shard.shard %r to %s annotate_for_users : tensor<2x8x256x64xf16>
  return %u : tensor<2x8x256x64xf16>
}

// -----

shard.grid @grid(shape = 4)
func.func @mixed(%q: tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %w = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %p = shard.shard %q to %w : tensor<2x8x256x64xf16>
  %a = shard.shard %p to %s annotate_for_users : tensor<2x8x256x64xf16>
  %b = shard.shard %p to %w annotate_for_users : tensor<2x8x256x64xf16>
  // expected-error @below {{cannot be partitioned: operands and results are split along heads in different ways}}
  %o = attention.forward %a, %b, %b : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16>
  %r = shard.shard %o to %s : tensor<2x8x256x64xf16>
  %u = shard.shard %r to %s annotate_for_users : tensor<2x8x256x64xf16>
  return %u : tensor<2x8x256x64xf16>
}

// -----

shard.grid @grid(shape = 4)
func.func @halo(%q: tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [], [0]] halo_sizes = [2, 1] : !shard.sharding
  %p = shard.shard %q to %s : tensor<2x8x256x64xf16>
  %a = shard.shard %p to %s annotate_for_users : tensor<2x8x256x64xf16>
  // expected-error @below {{cannot be partitioned: expects shards of one size without halos}}
  %o = attention.forward %a, %a, %a : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16>
  %r = shard.shard %o to %s : tensor<2x8x256x64xf16>
  %u = shard.shard %r to %s annotate_for_users : tensor<2x8x256x64xf16>
  return %u : tensor<2x8x256x64xf16>
}

// -----

shard.grid @grid(shape = 4)
shard.grid @other(shape = 4)
func.func @grids(%q: tensor<2x8x256x64xf16>, %k: tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %t = shard.sharding @other split_axes = [[], [0]] : !shard.sharding
  %p = shard.shard %q to %s : tensor<2x8x256x64xf16>
  %a = shard.shard %p to %s annotate_for_users : tensor<2x8x256x64xf16>
  %l = shard.shard %k to %t : tensor<2x8x256x64xf16>
  %b = shard.shard %l to %t annotate_for_users : tensor<2x8x256x64xf16>
  // expected-error @below {{cannot be partitioned: expects one grid}}
  %o = attention.forward %a, %b, %b : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16>
  %r = shard.shard %o to %s : tensor<2x8x256x64xf16>
  %u = shard.shard %r to %s annotate_for_users : tensor<2x8x256x64xf16>
  return %u : tensor<2x8x256x64xf16>
}
