// What is not tiled says why.
// RUN: %mlir_fa3 %s -split-input-file -transform-interpreter -mlir-print-op-on-diagnostic=false -verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @f(%q: tensor<?x8x64xf16>, %s: tensor<3xi32>) -> tensor<?x8x64xf16> {
  // expected-error @below {{its sequences lie anywhere ('place_q', 'place_k', packed or paged)}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  // expected-note @below {{when applied to this op}}
  %o = attention.forward %q, %q, %q aux(%s : tensor<3xi32>) layout bshd mods [#attention.packed<q = 0, k = 0>] : (tensor<?x8x64xf16>, tensor<?x8x64xf16>, tensor<?x8x64xf16>) -> tensor<?x8x64xf16>
  return %o : tensor<?x8x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attention.forward"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @below {{failed to apply}}
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @f(%q: tensor<2x8x256x64xf8E4M3FN>, %s: tensor<2x8x1xf32>) -> tensor<2x8x256x64xbf16> {
  // expected-error @below {{it has operands of 8 bits, whose scales are for parts of their own}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  // expected-note @below {{when applied to this op}}
  %o = attention.forward %q, %q, %q scales(%s, %s, %s : tensor<2x8x1xf32>, tensor<2x8x1xf32>, tensor<2x8x1xf32>) : (tensor<2x8x256x64xf8E4M3FN>, tensor<2x8x256x64xf8E4M3FN>, tensor<2x8x256x64xf8E4M3FN>) -> tensor<2x8x256x64xbf16>
  return %o : tensor<2x8x256x64xbf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attention.forward"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @below {{failed to apply}}
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @f(%q: tensor<2x8x256x64xf16>, %n: index, %l: tensor<2xi32>) -> tensor<2x8x256x64xf16> {
  %sequences = attention.sequences max_q %n
  // expected-error @below {{cannot be tiled by queries: it has a 'max_q'}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  // expected-note @below {{when applied to this op}}
  %o = attention.forward %q, %q, %q aux(%l : tensor<2xi32>) sequences %sequences mods [#attention.used<q = 0>] : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16>
  return %o : tensor<2x8x256x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attention.forward"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @below {{failed to apply}}
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [0, 0, 64] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @f(%q: tensor<2x8x256x64xf16>, %c: tensor<1x1x2xi32>, %i: tensor<1x1x2x2xi32>) -> tensor<2x8x256x64xf16> {
  // expected-error @below {{cannot be tiled by queries: it has lists of blocks}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  // expected-note @below {{when applied to this op}}
  %o = attention.forward %q, %q, %q aux(%c, %i : tensor<1x1x2xi32>, tensor<1x1x2x2xi32>) mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 128>] : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16>
  return %o : tensor<2x8x256x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attention.forward"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @below {{failed to apply}}
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [0, 0, 64] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @f(%q: tensor<2x8x256x64xf16>, %l: tensor<2xi32>) -> tensor<2x8x256x64xf16> {
  // expected-error @below {{cannot be tiled by queries: its sequences have numbers of queries of their own}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  // expected-note @below {{when applied to this op}}
  %o = attention.forward %q, %q, %q aux(%l : tensor<2xi32>) mods [#attention.used<q = 0>] : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16>
  return %o : tensor<2x8x256x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attention.forward"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @below {{failed to apply}}
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [0, 0, 64] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @f(%q: tensor<2x?x256x64xf16>) -> tensor<2x?x256x64xf16> {
  // expected-error @below {{cannot be tiled by heads: neither types nor 'group' say how many there are for each key head}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  // expected-note @below {{when applied to this op}}
  %o = attention.forward %q, %q, %q : (tensor<2x?x256x64xf16>, tensor<2x?x256x64xf16>, tensor<2x?x256x64xf16>) -> tensor<2x?x256x64xf16>
  return %o : tensor<2x?x256x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attention.forward"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @below {{failed to apply}}
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [0, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @f(%q: tensor<2x8x256x64xf16>, %k: tensor<2x2x256x64xf16>) -> tensor<2x8x256x64xf16> {
  // expected-error @below {{cannot be tiled by heads: expects tiles of whole groups of 4 heads, or of parts that divide them}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  // expected-note @below {{when applied to this op}}
  %o = attention.forward %q, %k, %k : (tensor<2x8x256x64xf16>, tensor<2x2x256x64xf16>, tensor<2x2x256x64xf16>) -> tensor<2x8x256x64xf16>
  return %o : tensor<2x8x256x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attention.forward"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @below {{failed to apply}}
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [0, 3] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
