// Few queries, several heads for each key head: a tile's rows are the heads of
// a group, query by query.
// RUN: fa3-opt %s -split-input-file -attention-expand-mods -attention-to-tile -canonicalize -cse | FileCheck %s

// The values after every pass, also with groups that are no power of two, whose
// rows without a head are neither read nor written, and with more queries than
// a tile has.
// RUN: split-file %S/Inputs/pack-gqa.txt %t
// RUN: fa3-run --cpu --check-each-pass="pack-gqa=true check=false" %t/causal.mlir --dims sq=5,sk=70 | FileCheck %s --check-prefix=SAME
// RUN: %if full %{ fa3-run --cpu --check-each-pass="pack-gqa=true block-m=128 block-n=32 mode=dynamic store=direct check=false" %t/causal.mlir --dims sq=37,sk=70 --sms 2 | FileCheck %s --check-prefix=SAME %}
// RUN: %if full %{ fa3-run --cpu --check-each-pass="pack-gqa=true block-m=128 block-n=32 store=in-place check=false" %t/window.mlir --dims sq=40,sk=90 | FileCheck %s --check-prefix=SAME %}
// More heads than rows: two groups of 64 that share a key head.
// RUN: %if full %{ fa3-run --cpu --check-each-pass="pack-gqa=true check=false" %t/many.mlir --dims sq=3,sk=70 | FileCheck %s --check-prefix=SAME %}
// RUN: fa3-translate %t/many.mlir --mlir-to-ptx '--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline{pack-gqa=true mode=cta})' -o %t/many.ptx && FileCheck %s --check-prefix=MANY < %t/many.json
// MANY: "grid": "ceildiv(q.shape[2], 4) * 8"
// RUN: %if full %{ fa3-run --cpu --check-each-pass="pack-gqa=true check=false" %t/by-head.mlir --dims sq=3,sk=50 | FileCheck %s --check-prefix=SAME %}
// RUN: %if full %{ fa3-run --cpu --check-each-pass="pack-gqa=true check=false" %t/float8.mlir --dims sq=2,sk=50 | FileCheck %s --check-prefix=SAME %}
// SAME: same answer after {{[0-9]+}} passes

// CHECK-LABEL: func.func @few
// CHECK: %[[EXPANDED:.*]] = memref.expand_shape %arg0 {{\[}}[0], [1, 2], [3], [4]] output_shape [2, 2, 4, 1, 64]
// CHECK: memref.transpose %[[EXPANDED]] (d0, d1, d2, d3, d4) -> (d0, d1, d3, d2, d4)
// CHECK: memref.expand_shape %arg4 {{\[}}[0], [1, 2], [3]] output_shape [2, 2, 4, 1]
// CHECK: tile.launch

// CHECK: tile.grid (%[[BLOCK:.*]], %[[HEAD:.*]], %[[BATCH:.*]]) in (%c1, %c2, %c2)
// CHECK: %[[FIRST:.*]] = arith.muli %[[BLOCK]], %c16
// CHECK: tile.load %arg0[%[[BATCH]], %[[HEAD]], %[[FIRST]], %c0, %c0] fold 4 : memref<2x2x1x4x64xf16, strided<[?, ?, ?, ?, 1]>> -> tensor<64x64xf16>
// The query of a row; keys do not know of groups. One warp group takes many.
// CHECK: tile.load %arg1[%[[BATCH]], %[[HEAD]], %{{.*}}, %c0] : memref<2x2x300x64xf16, {{.*}} -> tensor<192x64xf16>
// CHECK: %[[ROW:.*]] = tile.coord dim 0 offset %c0 : tensor<64xindex>
// CHECK: %[[QUERY:.*]] = arith.divui %[[ROW]], %{{.*}} : tensor<64xindex>
// CHECK: arith.addi %{{.*}}, %[[QUERY]]
// CHECK: tile.store %{{.*}}, %arg3[%[[BATCH]], %[[HEAD]], %[[FIRST]], %c0, %c0] fold 4 : tensor<64x64xf16>
// CHECK: tile.store %{{.*}}, %arg4[%[[BATCH]], %[[HEAD]], %[[FIRST]], %c0] fold 4 : tensor<64xf32>
!q = tensor<2x8x1x64xf16>
!k = tensor<2x2x300x64xf16>
!lse = tensor<2x8x1xf32>
func.func @few(%q: !q, %k: !k, %v: !k) -> (!q, !lse) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal] : (!q, !k, !k) -> (!q, !lse)
  return %o, %lse : !q, !lse
}

// -----

// Tiles are as full without it.
// CHECK-LABEL: func.func @many
// CHECK-NOT: fold
!q = tensor<2x8x512x64xf16>
!k = tensor<2x2x512x64xf16>
func.func @many(%q: !q, %k: !k, %v: !k) -> !q {
  %o = attention.forward %q, %k, %v : (!q, !k, !k) -> !q
  return %o : !q
}

// -----

// With a mask by query a tile of fewer queries has less beside the visible keys,
// whatever the extents; but not if rows are without a head.
// CHECK-LABEL: func.func @masked
// CHECK: tile.load {{.*}} fold 4
!q = tensor<?x8x?x64xf16>
!k = tensor<?x2x?x64xf16>
func.func @masked(%q: !q, %k: !k, %v: !k) -> !q {
  %o = attention.forward %q, %k, %v mods [#attention.causal] : (!q, !k, !k) -> !q
  return %o : !q
}

// -----

// Nor if heads are wide, which gain nothing.
// CHECK-LABEL: func.func @masked_wide
// CHECK-NOT: fold
!q = tensor<?x8x?x256xf16>
!k = tensor<?x2x?x256xf16>
func.func @masked_wide(%q: !q, %k: !k, %v: !k) -> !q {
  %o = attention.forward %q, %k, %v mods [#attention.causal] : (!q, !k, !k) -> !q
  return %o : !q
}

// -----

// CHECK-LABEL: func.func @masked_three
// CHECK-NOT: fold
!q = tensor<?x6x?x64xf16>
!k = tensor<?x2x?x64xf16>
func.func @masked_three(%q: !q, %k: !k, %v: !k) -> !q {
  %o = attention.forward %q, %k, %v mods [#attention.causal] : (!q, !k, !k) -> !q
  return %o : !q
}

// -----

// Not where the queries are not known, or have a key head each.
// CHECK-LABEL: func.func @unknown
// CHECK-NOT: fold
!q = tensor<2x8x?x64xf16>
!k = tensor<2x2x?x64xf16>
func.func @unknown(%q: !q, %k: !k, %v: !k) -> !q {
  %o = attention.forward %q, %k, %v : (!q, !k, !k) -> !q
  return %o : !q
}

// -----

// CHECK-LABEL: func.func @alone
// CHECK-NOT: fold
!q = tensor<2x8x1x64xf16>
!k = tensor<2x8x300x64xf16>
func.func @alone(%q: !q, %k: !k, %v: !k) -> !q {
  %o = attention.forward %q, %k, %v : (!q, !k, !k) -> !q
  return %o : !q
}

// -----

// What is read by head, and scales of heads, have one row each.
// CHECK-LABEL: func.func @slopes
// CHECK-NOT: fold
!q = tensor<2x8x1x64xf16>
!k = tensor<2x2x300x64xf16>
func.func @slopes(%q: !q, %k: !k, %v: !k, %slopes: tensor<8xf32>) -> !q {
  %o = attention.forward %q, %k, %v aux(%slopes : tensor<8xf32>) mods [#attention.alibi<aux = 0>] : (!q, !k, !k) -> !q
  return %o : !q
}

// -----

// CHECK-LABEL: func.func @scales
// CHECK-NOT: fold
!q = tensor<2x8x1x64xf8E4M3FN>
!k = tensor<2x2x300x64xf8E4M3FN>
!o = tensor<2x8x1x64xf16>
!s = tensor<2x8x1xf32>
!t = tensor<2x2x1xf32>
func.func @scales(%q: !q, %k: !k, %v: !k, %qs: !s, %ks: !t, %vs: !t) -> !o {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !t, !t) : (!q, !k, !k) -> !o
  return %o : !o
}

// -----

// Fewer keys where a tile of a bias is read beside them: more would spill.
// CHECK-LABEL: func.func @bias
// CHECK: tile.load %arg1{{.*}} -> tensor<128x64xf16>
!q = tensor<2x8x40x64xf16>
!k = tensor<2x8x1000x64xf16>
!bias = tensor<2x8x40x1000xf16>
func.func @bias(%q: !q, %k: !k, %v: !k, %b: !bias) -> !q {
  %o = attention.forward %q, %k, %v aux(%b : !bias) mods [#attention.bias<aux = 0>] : (!q, !k, !k) -> !q
  return %o : !q
}

// -----

// The heads of q are those of o and lse, which need not say so.
// CHECK-LABEL: func.func @agree
// CHECK: cf.assert %{{.*}}, "q and o differ in heads"
// CHECK: memref.cast %arg3 : memref<2x?x1x64xf16, {{.*}} to memref<2x8x1x64xf16
// CHECK: memref.expand_shape %{{.*}} output_shape [2, 2, 4, 1, 64]
!q = tensor<2x8x1x64xf16>
!k = tensor<2x2x?x64xf16>
!o = tensor<2x?x1x64xf16>
!lse = tensor<2x?x1xf32>
func.func @agree(%q: !q, %k: !k, %v: !k) -> (!o, !lse) {
  %o, %lse = attention.forward %q, %k, %v : (!q, !k, !k) -> (!o, !lse)
  return %o, %lse : !o, !lse
}
