// RUN: fa3-opt %s | fa3-opt | FileCheck %s
// RUN: fa3-opt %s -mlir-print-op-generic | fa3-opt | FileCheck %s

// Every form of every operation survives printing and parsing.

!q = tensor<2x32x?x128xbf16>
!k = tensor<2x8x?x128xbf16>

// The example of the operation's description.
// CHECK-LABEL: func.func @example(
// CHECK: %{{.*}}, %{{.*}} = attention.forward %{{.*}}, %{{.*}}, %{{.*}} mods [#attention.causal] :
// CHECK-SAME: (tensor<2x32x?x128xbf16>, tensor<2x8x?x128xbf16>, tensor<2x8x?x128xbf16>) -> (tensor<2x32x?x128xbf16>, tensor<2x32x?xf32>)
// CHECK-NOT: score
// CHECK-NOT: keep
func.func @example(%q: !q, %k: !k, %v: !k) -> (!q, tensor<2x32x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal]
    : (tensor<2x32x?x128xbf16>, tensor<2x8x?x128xbf16>, tensor<2x8x?x128xbf16>)
    -> (tensor<2x32x?x128xbf16>, tensor<2x32x?xf32>)
  return %o, %lse : !q, tensor<2x32x?xf32>
}

// The largest scores are the last result, beside lse or without.
// CHECK-LABEL: func.func @max_logits(
// CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} max_logits mods [#attention.causal] :
// CHECK-SAME: -> (tensor<2x32x?x128xbf16>, tensor<2x32x?xf32>, tensor<2x32x?xf32>)
// CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} max_logits :
// CHECK-SAME: -> (tensor<2x32x?x128xbf16>, tensor<2x32x?xf32>)
func.func @max_logits(%q: !q, %k: !k, %v: !k) {
  %0:3 = attention.forward %q, %k, %v max_logits mods [#attention.causal] : (!q, !k, !k) -> (!q, tensor<2x32x?xf32>, tensor<2x32x?xf32>)
  %1:2 = attention.forward %q, %k, %v max_logits : (!q, !k, !k) -> (!q, tensor<2x32x?xf32>)
  return
}

// CHECK-LABEL: func.func @least(
// CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} : (tensor<1x1x1x8xf16>, tensor<1x1x1x8xf16>, tensor<1x1x1x256xf16>) -> tensor<1x1x1x256xf16>
func.func @least(%q: tensor<1x1x1x8xf16>, %v: tensor<1x1x1x256xf16>) -> tensor<1x1x1x256xf16> {
  %o = attention.forward %q, %q, %v : (tensor<1x1x1x8xf16>, tensor<1x1x1x8xf16>, tensor<1x1x1x256xf16>) -> tensor<1x1x1x256xf16>
  return %o : tensor<1x1x1x256xf16>
}

// All clauses in their order; bhsd is the default and not printed.
// CHECK-LABEL: func.func @clauses(
// CHECK-SAME: %[[Q:.*]]: tensor<?x?x?x64xf16>, %[[A:.*]]: tensor<?xf32>, %[[B:.*]]: tensor<1x?x1x?xbf16>, %[[S:.*]]: f32
// CHECK: attention.forward %[[Q]], %[[Q]], %[[Q]] aux(%[[A]], %[[B]] : tensor<?xf32>, tensor<1x?x1x?xbf16>) scale %[[S]] layout bshd
// CHECK-SAME: mods [#attention.causal, #attention.window<left = 1024, right = 0>, #attention.window<left = 128>, #attention.window<right = 2>, #attention.window<>,
// CHECK-SAME: #attention.prefix<128>, #attention.softcap<5.000000e+01 : f64>, #attention.softcap<3.000000e+00 : f32>, #attention.alibi<aux = 0>, #attention.bias<aux = 1>]
// CHECK-SAME: {note = "any"} :
// CHECK-NEXT: attention.forward %[[Q]], %[[Q]], %[[Q]] :
func.func @clauses(%q: tensor<?x?x?x64xf16>, %a: tensor<?xf32>, %b: tensor<1x?x1x?xbf16>, %s: f32) {
  %0:2 = attention.forward %q, %q, %q aux(%a, %b : tensor<?xf32>, tensor<1x?x1x?xbf16>) scale %s layout bshd
    mods [#attention.causal, #attention.window<left = 1024, right = 0>, #attention.window<left = 128>,
          #attention.window<right = 2>, #attention.window<>, #attention.prefix<128>, #attention.softcap<50.0>,
          #attention.softcap<3.0 : f32>, #attention.alibi<aux = 0>, #attention.bias<aux = 1>]
    {note = "any"}
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
  %1 = attention.forward %q, %q, %q layout bhsd
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  return
}

// CHECK-LABEL: func.func @regions(
// CHECK: attention.forward
// CHECK-NEXT: score_mod (%[[S:.*]], %{{.*}}, %[[H:.*]], %[[I:.*]], %[[J:.*]]) {
// CHECK-NEXT: %[[E:.*]] = tensor.extract %{{.*}}[%[[H]]]
// CHECK-NEXT: %[[R:.*]] = arith.addf %[[S]], %[[E]]
// CHECK-NEXT: attention.yield %[[R]] : f32
// CHECK-NEXT: }
// CHECK-NEXT: mask_mod (%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) {
// CHECK-NEXT: %[[SK:.*]] = attention.length key
// CHECK-NEXT: %[[SQ:.*]] = attention.length query
// CHECK: attention.yield %{{.*}} : i1
// CHECK-NEXT: }
// CHECK: attention.forward
// CHECK-NEXT: mask_mod (
// CHECK: attention.forward
// CHECK-NEXT: score_mod (
func.func @regions(%q: tensor<?x?x?x64xf16>, %a: tensor<?xf32>, %x: index) {
  %0 = attention.forward %q, %q, %q aux(%a : tensor<?xf32>)
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
    score_mod (%s, %b, %h, %i, %j) {
      %e = tensor.extract %a[%h] : tensor<?xf32>
      %r = arith.addf %s, %e : f32
      attention.yield %r : f32
    }
    mask_mod (%b, %h, %i, %j) {
      %sk = attention.length key
      %sq = attention.length query
      %offset = arith.subi %sk, %sq : index
      %last = arith.addi %i, %offset : index
      %keep = arith.cmpi sle, %j, %last : index
      attention.yield %keep : i1
    }
  // A captured scalar.
  %1 = attention.forward %q, %q, %q
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.cmpi sle, %j, %x : index
      attention.yield %keep : i1
    }
  %2 = attention.forward %q, %q, %q
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
    score_mod (%s, %b, %h, %i, %j) {
      attention.yield %s : f32
    }
  return
}

// 8-bit operands with scales: for heads, for blocks of 128 rows.
// CHECK-LABEL: func.func @float8(
func.func @float8(%q: tensor<2x8x?x64xf8E4M3FN>, %k: tensor<2x2x?x64xf8E4M3FN>, %s: tensor<2x2x1xf32>, %b: tensor<2x8x?xf32>) {
  // CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} scales(%[[S:.*]], %[[S]], %[[S]] : tensor<2x2x1xf32>, tensor<2x2x1xf32>, tensor<2x2x1xf32>) mods [#attention.causal]
  %o = attention.forward %q, %k, %k scales(%s, %s, %s : tensor<2x2x1xf32>, tensor<2x2x1xf32>, tensor<2x2x1xf32>) mods [#attention.causal]
    : (tensor<2x8x?x64xf8E4M3FN>, tensor<2x2x?x64xf8E4M3FN>, tensor<2x2x?x64xf8E4M3FN>) -> tensor<2x8x?x64xbf16>
  // CHECK: scales(%{{.*}}, %[[S]], %[[S]] : tensor<2x8x?xf32>, tensor<2x2x1xf32>, tensor<2x2x1xf32>) rows [128, 0, 0]
  %p = attention.forward %q, %k, %k scales(%b, %s, %s : tensor<2x8x?xf32>, tensor<2x2x1xf32>, tensor<2x2x1xf32>) rows [128, 0, 0]
    : (tensor<2x8x?x64xf8E4M3FN>, tensor<2x2x?x64xf8E4M3FN>, tensor<2x2x?x64xf8E4M3FN>) -> tensor<2x8x?x64xf32>
  return
}

// Elements of q that are sums of two numbers; one term is not printed.
// CHECK-LABEL: func.func @terms(
func.func @terms(%q: tensor<2x?x8x128xf8E5M2>, %k: tensor<2x?x2x64xf8E5M2>, %s: tensor<1x1x1xf32>) {
  // CHECK: scales(%[[S:.*]], %[[S]], %[[S]] : {{.*}}) q_terms 2 layout bshd :
  %o = attention.forward %q, %k, %k scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) q_terms 2 layout bshd
    : (tensor<2x?x8x128xf8E5M2>, tensor<2x?x2x64xf8E5M2>, tensor<2x?x2x64xf8E5M2>) -> tensor<2x?x8x64xf32>
  // CHECK-NOT: q_terms
  %p = attention.forward %k, %k, %k scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) q_terms 1 layout bshd
    : (tensor<2x?x2x64xf8E5M2>, tensor<2x?x2x64xf8E5M2>, tensor<2x?x2x64xf8E5M2>) -> tensor<2x?x2x64xf32>
  return
}

// Keys and values of 4 bits.
// CHECK-LABEL: func.func @nibbles(
func.func @nibbles(%q: tensor<2x?x8x64xbf16>, %k: tensor<2x?x2x32xi8>, %s: tensor<2x2x?xf32>, %n: index) {
  // CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} scale 1.250000e-01 nibbles(%[[S:.*]], %[[S]] : tensor<2x2x?xf32>, tensor<2x2x?xf32>) splits %{{.*}} layout bshd mods [#attention.causal] : (tensor<2x?x8x64xbf16>, tensor<2x?x2x32xi8>, tensor<2x?x2x32xi8>) -> tensor<2x?x8x64xbf16>
  %o = attention.forward %q, %k, %k scale 0.125 nibbles(%s, %s : tensor<2x2x?xf32>, tensor<2x2x?xf32>) splits %n layout bshd mods [#attention.causal]
    : (tensor<2x?x8x64xbf16>, tensor<2x?x2x32xi8>, tensor<2x?x2x32xi8>) -> tensor<2x?x8x64xbf16>
  return
}

// v with its keys contiguous, in both layouts.
// CHECK-LABEL: func.func @transposed_v(
func.func @transposed_v(%q: tensor<2x8x?x64xf16>, %k: tensor<2x2x?x64xf16>, %v: tensor<2x2x32x?xf16>,
                        %p: tensor<2x?x8x64xf16>, %l: tensor<2x?x2x64xf16>, %w: tensor<2x32x2x?xf16>) {
  // CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} transposed_v mods [#attention.causal] : (tensor<2x8x?x64xf16>, tensor<2x2x?x64xf16>, tensor<2x2x32x?xf16>)
  %o = attention.forward %q, %k, %v transposed_v mods [#attention.causal]
    : (tensor<2x8x?x64xf16>, tensor<2x2x?x64xf16>, tensor<2x2x32x?xf16>) -> tensor<2x8x?x32xf16>
  // CHECK: attention.forward %{{.*}} layout bshd transposed_v :
  %r = attention.forward %p, %l, %w layout bshd transposed_v
    : (tensor<2x?x8x64xf16>, tensor<2x?x2x64xf16>, tensor<2x32x2x?xf16>) -> tensor<2x?x8x32xf16>
  return
}

// Scales for heads, for a tensor with rotation by signs, for blocks with a
// given matrix.
// CHECK-LABEL: func.func @quantize(
func.func @quantize(%x: tensor<2x8x?x96xf16>, %f: tensor<?x?x?x16xf32>, %s: tensor<96xf32>, %m: tensor<96x96xf16>) {
  // CHECK: attention.quantize %{{.*}} : tensor<2x8x?x96xf16> -> tensor<2x8x?x96xf8E4M3FN>, tensor<2x8x1xf32>
  %a:2 = attention.quantize %x rows 0 layout bhsd : tensor<2x8x?x96xf16> -> tensor<2x8x?x96xf8E4M3FN>, tensor<2x8x1xf32>
  // CHECK: attention.quantize %{{.*}} rotate %{{.*}} : tensor<96xf32> layout bshd :
  %b:2 = attention.quantize %x rotate %s : tensor<96xf32> layout bshd : tensor<2x8x?x96xf16> -> tensor<2x8x?x96xf8E5M2>, tensor<1x1x1xf32>
  // CHECK: attention.quantize %{{.*}} rotate %{{.*}} : tensor<96x96xf16> rows 128 :
  %c:2 = attention.quantize %x rotate %m : tensor<96x96xf16> rows 128 : tensor<2x8x?x96xf16> -> tensor<2x8x?x96xf8E4M3FN>, tensor<2x1x?xf32>
  // CHECK: attention.quantize %{{.*}} rows 1 : tensor<?x?x?x16xf32>
  %d:2 = attention.quantize %f rows 1 : tensor<?x?x?x16xf32> -> tensor<?x?x?x16xf8E4M3FN>, tensor<?x?x?xf32>
  // CHECK: attention.quantize %{{.*}} rows 1 terms 2 : tensor<?x?x?x16xf32> -> tensor<?x?x?x32xf8E4M3FN>
  %e:2 = attention.quantize %f rows 1 terms 2 : tensor<?x?x?x16xf32> -> tensor<?x?x?x32xf8E4M3FN>, tensor<?x?x?xf32>
  return
}

// CHECK-LABEL: func.func @group
func.func @group(%q: tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16> {
  // CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} group 1 layout bshd :
  %o = attention.forward %q, %q, %q group 1 layout bshd
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  return %o : tensor<?x?x?x64xf16>
}

// CHECK-LABEL: func.func @group_of_gradients
func.func @group_of_gradients(%q: tensor<?x?x?x64xf16>, %l: tensor<?x?x?xf32>, %n: index) {
  // CHECK: attention.backward {{.*}} sequences %{{.*}} group 2 layout bshd :
  %sequences = attention.sequences max_q %n
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q sequences %sequences group 2 layout bshd
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?xf32>, tensor<?x?x?x64xf16>) -> (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>)
  return
}

// o and lse of other keys; o of f32 between steps.
// CHECK-LABEL: func.func @previous
func.func @previous(%q: tensor<?x2x?x64xf16>, %o: tensor<?x2x?x64xf32>, %l: tensor<?x2x?xf32>, %s: tensor<2xf32>) {
  // CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} sinks(%{{.*}} : tensor<2xf32>) previous(%{{.*}}, %{{.*}} : tensor<?x2x?x64xf32>, tensor<?x2x?xf32>) group 1 : (tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>) -> tensor<?x2x?x64xf32>
  %0 = attention.forward %q, %q, %q sinks(%s : tensor<2xf32>) previous(%o, %l : tensor<?x2x?x64xf32>, tensor<?x2x?xf32>) group 1
    : (tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>) -> tensor<?x2x?x64xf32>
  // CHECK: attention.forward %{{.*}} previous(%{{.*}}, %{{.*}} : tensor<?x2x?x64xf16>, tensor<?x2x?xf32>) :
  %1 = attention.forward %q, %q, %q previous(%q, %l : tensor<?x2x?x64xf16>, tensor<?x2x?xf32>)
    : (tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>) -> tensor<?x2x?x64xf16>
  return
}

// Scores with a part of values, whose head dim is another one.
// CHECK-LABEL: func @qv
// CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} qv(%{{.*}} : tensor<1x4x?x512xf16>) scale 1.250000e-01 : (tensor<1x4x?x64xf16>, tensor<1x1x?x64xf16>, tensor<1x1x?x512xf16>) -> tensor<1x4x?x512xf16>
func.func @qv(%q: tensor<1x4x?x64xf16>, %k: tensor<1x1x?x64xf16>, %v: tensor<1x1x?x512xf16>, %qv: tensor<1x4x?x512xf16>) -> tensor<1x4x?x512xf16> {
  %o = attention.forward %q, %k, %v qv(%qv : tensor<1x4x?x512xf16>) scale 0.125
    : (tensor<1x4x?x64xf16>, tensor<1x1x?x64xf16>, tensor<1x1x?x512xf16>) -> tensor<1x4x?x512xf16>
  return %o : tensor<1x4x?x512xf16>
}

// Lengths and places, by mods and by hand; sinks and parts.
// CHECK-LABEL: func @places
// CHECK: attention.forward %{{.*}}, %{{.*}}, %{{.*}} aux(%{{.*}}, %{{.*}} : tensor<?xi32>, tensor<?x?xi32>) sequences %{{.*}} splits %{{.*}} sinks(%{{.*}} : tensor<?xf32>) layout bshd mods [#attention.packed<q = 0>, #attention.used<k = 0>, #attention.paged<table = 1>] : (tensor<?x4x64xf16>, tensor<?x16x2x64xf16>, tensor<?x16x2x64xf16>) -> (tensor<?x4x64xf16>, tensor<4x?xf32>)
// CHECK: %[[S:.*]] = attention.sequences{{$}}
// CHECK-NEXT: lengths (%[[B:.*]]) {
// CHECK: attention.yield %{{.*}}, %{{.*}} : index, index
// CHECK: place_q (%[[B:.*]], %[[H:.*]], %[[I:.*]]) {
// CHECK: attention.yield %[[H]], %{{.*}} : index, index
// CHECK: place_k (%{{.*}}, %[[H:.*]], %[[J:.*]]) {
// CHECK: attention.yield %{{.*}}, %[[H]], %[[J]] : index, index, index
// CHECK: attention.forward {{.*}} sequences %[[S]] :
func.func @places(%q: tensor<?x4x64xf16>, %k: tensor<?x16x2x64xf16>, %p: tensor<4x?x64xf16>, %t: tensor<?x2x?x64xf16>,
                  %cu: tensor<?xi32>, %table: tensor<?x?xi32>, %n: index, %sinks: tensor<?xf32>) {
  %sequences = attention.sequences max_q %n
  %0:2 = attention.forward %q, %k, %k aux(%cu, %table : tensor<?xi32>, tensor<?x?xi32>) sequences %sequences splits %n sinks(%sinks : tensor<?xf32>) layout bshd
      mods [#attention.packed<q = 0>, #attention.used<k = 0>, #attention.paged<table = 1>]
    : (tensor<?x4x64xf16>, tensor<?x16x2x64xf16>, tensor<?x16x2x64xf16>) -> (tensor<?x4x64xf16>, tensor<4x?xf32>)
  %sequences1 = attention.sequences
    lengths (%b) {
      %a = tensor.extract %cu[%b] : tensor<?xi32>
      %length = arith.index_cast %a : i32 to index
      attention.yield %length, %length : index, index
    }
    place_q (%b, %h, %i) {
      %row = arith.addi %i, %n : index
      attention.yield %h, %row : index, index
    }
    place_k (%b, %h, %j) {
      %c0 = arith.constant 0 : index
      attention.yield %c0, %h, %j : index, index, index
    }
  %1 = attention.forward %p, %t, %t aux(%cu : tensor<?xi32>) sequences %sequences1
    : (tensor<4x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>) -> tensor<4x?x64xf16>
  return
}

// Lists of blocks, by a mod and by hand.
// CHECK-LABEL: func @blocks
// CHECK: mods [#attention.blocks<count = 0, index = 1, full_count = 0, full_index = 1, queries = 128, keys = 64>]
// CHECK: mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 64>]
// CHECK: %[[L:.*]] = attention.blocks [192, 80]
// CHECK-NEXT: by_query (%[[B:.*]], %[[H:.*]], %[[M:.*]], %[[T:.*]]) {
// CHECK: attention.yield %[[M]], %[[T]], %{{.*}}, %{{.*}} : index, index, index, index
// CHECK: attention.forward {{.*}} blocks %[[L]] :
func.func @blocks(%q: tensor<?x4x?x64xf16>, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>) {
  %0 = attention.forward %q, %q, %q aux(%count, %index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>)
      mods [#attention.blocks<count = 0, index = 1, full_count = 0, full_index = 1, queries = 128, keys = 64>]
    : (tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16>) -> tensor<?x4x?x64xf16>
  %1 = attention.forward %q, %q, %q aux(%count, %index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>)
      mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 64>]
    : (tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16>) -> tensor<?x4x?x64xf16>
  %blocks = attention.blocks [192, 80]
    by_query (%b, %h, %m, %t) {
      %c0 = arith.constant 0 : index
      attention.yield %m, %t, %c0, %c0 : index, index, index, index
    }
  %2 = attention.forward %q, %q, %q blocks %blocks
    : (tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16>) -> tensor<?x4x?x64xf16>
  return
}

// Lists of blocks in gradients, by mods and by hand.
// CHECK-LABEL: func @backward_blocks
// CHECK: mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 64>, #attention.blocks<count = 0, index = 1, full_count = 0, full_index = 1, queries = 128, keys = 64, by = key>]
// CHECK: %[[L:.*]] = attention.blocks [192, 80]
// CHECK-NEXT: by_query (%{{.*}}, %{{.*}}, %[[M:.*]], %[[T:.*]]) {
// CHECK: attention.yield %[[M]], %[[T]], %{{.*}}, %{{.*}} : index, index, index, index
// CHECK: by_key (%{{.*}}, %{{.*}}, %[[N:.*]], %[[U:.*]]) {
// CHECK: attention.yield %[[N]], %[[U]], %{{.*}}, %{{.*}} : index, index, index, index
// CHECK: attention.backward {{.*}} blocks %[[L]] :
!listed = tensor<?x4x?x64xf16>
!listed_rows = tensor<?x4x?xf32>
func.func @backward_blocks(%q: !listed, %l: !listed_rows, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>) {
  %0:3 = attention.backward %q, %q, %q, %q, %l, %q aux(%count, %index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>)
      mods [#attention.blocks<count = 0, index = 1, queries = 128, keys = 64>,
            #attention.blocks<count = 0, index = 1, full_count = 0, full_index = 1, queries = 128, keys = 64, by = key>]
    : (!listed, !listed, !listed, !listed, !listed_rows, !listed) -> (!listed, !listed, !listed)
  %blocks = attention.blocks [192, 80]
    by_query (%b, %h, %m, %t) {
      %c0 = arith.constant 0 : index
      attention.yield %m, %t, %c0, %c0 : index, index, index, index
    }
    by_key (%b, %h, %n, %t) {
      %c0 = arith.constant 0 : index
      attention.yield %n, %t, %c0, %c0 : index, index, index, index
    }
  %1:3 = attention.backward %q, %q, %q, %q, %l, %q blocks %blocks : (!listed, !listed, !listed, !listed, !listed_rows, !listed) -> (!listed, !listed, !listed)
  return
}

// Gradients: the least, and every clause.
// CHECK-LABEL: func.func @backward(
func.func @backward(%q: tensor<2x8x?x64xf16>, %k: tensor<2x2x?x64xf16>, %v: tensor<2x2x?x32xf16>,
                    %o: tensor<2x8x?x32xf16>, %lse: tensor<2x8x?xf32>, %slopes: tensor<8xf32>, %scale: f32) {
  // CHECK: %{{.*}}, %{{.*}}, %{{.*}} = attention.backward %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x8x?x64xf16>, tensor<2x2x?x64xf16>, tensor<2x2x?x32xf16>, tensor<2x8x?x32xf16>, tensor<2x8x?xf32>, tensor<2x8x?x32xf16>) -> (tensor<2x8x?x64xf16>, tensor<2x2x?x64xf16>, tensor<2x2x?x32xf16>)
  %a:3 = attention.backward %q, %k, %v, %o, %lse, %o
    : (tensor<2x8x?x64xf16>, tensor<2x2x?x64xf16>, tensor<2x2x?x32xf16>, tensor<2x8x?x32xf16>, tensor<2x8x?xf32>, tensor<2x8x?x32xf16>)
    -> (tensor<2x8x?x64xf16>, tensor<2x2x?x64xf16>, tensor<2x2x?x32xf16>)
  // CHECK: attention.backward %{{.*}} dlse %{{.*}} aux(%{{.*}} : tensor<8xf32>) scale %{{.*}} mods [#attention.causal] : (tensor<2x8x?x64xf16>, tensor<2x2x?x64xf16>, tensor<2x2x?x32xf16>, tensor<2x8x?x32xf16>, tensor<2x8x?xf32>, tensor<2x8x?x32xf16>, tensor<2x8x?xf32>)
  // CHECK-NEXT: score_mod (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
  // CHECK: score_grad (%{{.*}}, %[[G:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
  // CHECK: attention.yield %[[G]] : f32
  // CHECK: mask_mod (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
  %b:3 = attention.backward %q, %k, %v, %o, %lse, %o dlse %lse aux(%slopes : tensor<8xf32>) scale %scale mods [#attention.causal]
    : (tensor<2x8x?x64xf16>, tensor<2x2x?x64xf16>, tensor<2x2x?x32xf16>, tensor<2x8x?x32xf16>, tensor<2x8x?xf32>, tensor<2x8x?x32xf16>, tensor<2x8x?xf32>)
    -> (tensor<2x8x?x64xf16>, tensor<2x2x?x64xf16>, tensor<2x2x?x32xf16>)
    score_mod (%s, %b0, %h, %i, %j) {
      %slope = tensor.extract %slopes[%h] : tensor<8xf32>
      %t = arith.addf %s, %slope : f32
      attention.yield %t : f32
    }
    score_grad (%s, %g, %b0, %h, %i, %j) {
      attention.yield %g : f32
    }
    mask_mod (%b0, %h, %i, %j) {
      %keys = attention.length key
      %c = arith.cmpi slt, %j, %keys : index
      attention.yield %c : i1
    }
  return
}

// Gradients of auxiliary operands, in another order than theirs.
// CHECK-LABEL: func.func @backward_aux(
func.func @backward_aux(%q: tensor<2x8x?x64xbf16>, %lse: tensor<2x8x?xf32>, %a: tensor<8xf32>, %x: tensor<1x8x?x?xf16>) {
  // CHECK: %{{.*}}:2 = attention.backward %{{.*}} aux(%{{.*}}, %{{.*}} : tensor<8xf32>, tensor<1x8x?x?xf16>) grad_aux [1, 0] mods [#attention.alibi<aux = 0>, #attention.bias<aux = 1>] :
  // CHECK-SAME: -> (tensor<2x8x?x64xbf16>, tensor<2x8x?x64xbf16>, tensor<2x8x?x64xbf16>, tensor<1x8x?x?xf16>, tensor<8xf32>)
  %g:5 = attention.backward %q, %q, %q, %q, %lse, %q aux(%a, %x : tensor<8xf32>, tensor<1x8x?x?xf16>) grad_aux [1, 0]
    mods [#attention.alibi<aux = 0>, #attention.bias<aux = 1>]
    : (tensor<2x8x?x64xbf16>, tensor<2x8x?x64xbf16>, tensor<2x8x?x64xbf16>, tensor<2x8x?x64xbf16>, tensor<2x8x?xf32>, tensor<2x8x?x64xbf16>)
    -> (tensor<2x8x?x64xbf16>, tensor<2x8x?x64xbf16>, tensor<2x8x?x64xbf16>, tensor<1x8x?x?xf16>, tensor<8xf32>)
  return
}

// CHECK-LABEL: func.func @backward_bshd(
func.func @backward_bshd(%q: tensor<2x?x8x64xbf16>, %lse: tensor<2x8x?xf32>) {
  // CHECK: attention.backward %{{.*}} layout bshd :
  %a:3 = attention.backward %q, %q, %q, %q, %lse, %q layout bshd
    : (tensor<2x?x8x64xbf16>, tensor<2x?x8x64xbf16>, tensor<2x?x8x64xbf16>, tensor<2x?x8x64xbf16>, tensor<2x8x?xf32>, tensor<2x?x8x64xbf16>)
    -> (tensor<2x?x8x64xbf16>, tensor<2x?x8x64xbf16>, tensor<2x?x8x64xbf16>)
  return
}

// Gradients of sequences that lie anywhere.
// CHECK-LABEL: func.func @backward_places(
func.func @backward_places(%q: tensor<?x8x64xbf16>, %lse: tensor<8x?xf32>, %cu: tensor<?xi32>, %most: index, %x: f32) {
  // CHECK: attention.backward %{{.*}} aux(%{{.*}} : tensor<?xi32>) scale %{{.*}} sequences %{{.*}} layout bshd mods [#attention.packed<q = 0, k = 0>] : (tensor<?x8x64xbf16>
  %sequences = attention.sequences max_q %most
  %a:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%cu : tensor<?xi32>) scale %x sequences %sequences layout bshd
    mods [#attention.packed<q = 0, k = 0>]
    : (tensor<?x8x64xbf16>, tensor<?x8x64xbf16>, tensor<?x8x64xbf16>, tensor<?x8x64xbf16>, tensor<8x?xf32>, tensor<?x8x64xbf16>)
    -> (tensor<?x8x64xbf16>, tensor<?x8x64xbf16>, tensor<?x8x64xbf16>)
  // CHECK: %[[S:.*]] = attention.sequences{{$}}
  // CHECK: lengths (%{{.*}}) {
  // CHECK: place_q (%{{.*}}, %{{.*}}, %{{.*}}) {
  // CHECK: place_k (%{{.*}}, %{{.*}}, %{{.*}}) {
  // CHECK: attention.backward {{.*}} sequences %[[S]]
  // CHECK-NEXT: mask_mod (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
  %sequences1 = attention.sequences
    lengths (%b0) {
      %queries = attention.length query
      attention.yield %queries, %queries : index, index
    }
    place_q (%b0, %h, %i) {
      attention.yield %h, %i : index, index
    }
    place_k (%b0, %h, %j) {
      attention.yield %h, %j : index, index
    }
  %b:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%cu : tensor<?xi32>) sequences %sequences1 layout bshd
    : (tensor<?x8x64xbf16>, tensor<?x8x64xbf16>, tensor<?x8x64xbf16>, tensor<?x8x64xbf16>, tensor<8x?xf32>, tensor<?x8x64xbf16>)
    -> (tensor<?x8x64xbf16>, tensor<?x8x64xbf16>, tensor<?x8x64xbf16>)
    mask_mod (%b0, %h, %i, %j) {
      %c = arith.cmpi sle, %j, %i : index
      attention.yield %c : i1
    }
  return
}

// One-line masks, alignment and a scale that is a number.
// CHECK-LABEL: func.func @one_liners
// CHECK: attention.forward %{{.*}} aux(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x?xi32>, tensor<2xi64>, tensor<1x1x?x?xi1>) scale 1.250000e-01
// CHECK-SAME: mods [#attention.causal, #attention.causal<align = top_left>, #attention.window<left = 3, align = top_left>,
// CHECK-SAME: #attention.chunk<64>, #attention.dilation<2>, #attention.document<aux = 0>, #attention.key_lengths<aux = 1>, #attention.mask<aux = 2>]
func.func @one_liners(%q: tensor<2x1x?x64xf16>, %d: tensor<2x?xi32>, %n: tensor<2xi64>, %m: tensor<1x1x?x?xi1>) -> tensor<2x1x?x64xf16> {
  %o = attention.forward %q, %q, %q aux(%d, %n, %m : tensor<2x?xi32>, tensor<2xi64>, tensor<1x1x?x?xi1>) scale 0.125
    mods [#attention.causal<align = bottom_right>, #attention.causal<align = top_left>,
          #attention.window<left = 3, align = top_left>, #attention.chunk<64>, #attention.dilation<2>,
          #attention.document<aux = 0>, #attention.key_lengths<aux = 1>, #attention.mask<aux = 2>]
    : (tensor<2x1x?x64xf16>, tensor<2x1x?x64xf16>, tensor<2x1x?x64xf16>) -> tensor<2x1x?x64xf16>
  return %o : tensor<2x1x?x64xf16>
}

// Weights that are dropped, by name and as code.
// CHECK-LABEL: func.func @dropped
// CHECK: attention.forward %{{.*}} aux(%{{.*}} : tensor<2xi64>) mods [#attention.dropout<p = 1.000000e-01 : f64, aux = 0>] :
// CHECK: attention.forward %{{.*}} mods [#attention.causal] kept_scale 2.000000e+00 :
// CHECK-NEXT: keep_mod (%{{.*}}, %[[H:.*]], %{{.*}}, %[[J:.*]]) {
// CHECK-NEXT: %[[N:.*]] = attention.heads
// CHECK: attention.backward %{{.*}} kept_scale 1.250000e+00 :
// CHECK-NEXT: keep_mod (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
!t = tensor<1x2x?x64xf16>
func.func @dropped(%q: !t, %lse: tensor<1x2x?xf32>, %state: tensor<2xi64>) {
  %0 = attention.forward %q, %q, %q aux(%state : tensor<2xi64>) mods [#attention.dropout<p = 0.1, aux = 0>] : (!t, !t, !t) -> !t
  %1 = attention.forward %q, %q, %q mods [#attention.causal] kept_scale 2.0 : (!t, !t, !t) -> !t
    keep_mod (%b, %h, %i, %j) {
      %heads = attention.heads
      %keep = arith.cmpi ult, %j, %heads : index
      attention.yield %keep : i1
    }
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q kept_scale 1.25 : (!t, !t, !t, !t, tensor<1x2x?xf32>, !t) -> (!t, !t, !t)
    keep_mod (%b, %h, %i, %j) {
      %keep = arith.cmpi ne, %j, %i : index
      attention.yield %keep : i1
    }
  return
}
