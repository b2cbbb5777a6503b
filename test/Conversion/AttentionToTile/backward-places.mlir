// Gradients of sequences that lie one behind the other: tiles for the rows there are, loads and
// stores at the places of rows, stores end with the sequence.
// RUN: fa3-opt %s -attention-expand-mods -attention-to-tile=backward-form=split | FileCheck %s
// RUN: fa3-opt %s -attention-expand-mods -attention-to-tile=backward-form=fused | FileCheck %s --check-prefix=FUSED

// Workspaces are like lse and dq, with whole tiles of rows; sequences are limited once for queries
// and once for keys.
// CHECK-LABEL: func.func @packed
// CHECK: cf.assert %{{.*}}, "q and do differ in heads"
// CHECK: cf.assert %{{.*}}, "q and do differ in length"
// CHECK-COUNT-2: "there are more than 4095 packed sequences"
// CHECK: memref.alloc(%{{.*}}) {{.*}}"shift"{{.*}} : memref<?x?xf32>
// FUSED-LABEL: func.func @packed
// FUSED: memref.alloc(%{{.*}}) {{.*}}"dq_sums"{{.*}} : memref<?x?x64xf32>

// Statistics of every sequence in blocks of 128 of their own: behind its end queries weigh nothing.
// CHECK-LABEL: gpu.func @packed_delta
// CHECK: tile.grid (%[[T:.*]], %[[H:.*]]) in
// CHECK: arith.remui %[[T]], %c2
// CHECK: arith.divui %[[T]], %c2
// CHECK: tile.load %{{.*}}[%[[H]], %{{.*}}, %c0{{.*}}] : memref<2x?x64xf16
// CHECK: %[[IS:.*]] = arith.cmpi slt, %{{.*}} : tensor<64xindex>
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64xf32>
// CHECK: %[[DELTA:.*]] = arith.select %[[IS]], %{{.*}}, %[[ZERO]]
// CHECK: %[[LOW:.*]] = arith.constant dense<0xFF800000> : tensor<64xf32>
// CHECK: %[[SHIFT:.*]] = arith.select %[[IS]], %{{.*}}, %[[LOW]]
// CHECK: arith.floordivsi %{{.*}}, %c128
// CHECK: tile.store %[[DELTA]], %{{.*}}[%[[H]], %[[ROW:.*]]] : tensor<64xf32>, memref<?x?xf32>
// CHECK: tile.store %[[SHIFT]], %{{.*}}[%[[H]], %[[ROW]]]
// FUSED-LABEL: gpu.func @packed_delta
// FUSED: tile.store %{{.*}}[%{{.*}}, %{{.*}}, %c0{{.*}}] : tensor<64x64xf32>, memref<?x?x64xf32>

// Blocks of keys: the tiles of all sequences.
// CHECK-LABEL: gpu.func @packed_dkdv
// CHECK: %[[WHOLE:.*]] = arith.divui %{{.*}}, %c128
// CHECK: %[[TILES:.*]] = arith.addi %[[WHOLE]], %{{.*}}
// CHECK: tile.grid (%{{.*}}, %{{.*}}) in (%[[TILES]], %{{.*}})
// CHECK: tile.scalar_load
// CHECK: tile.load %{{.*}} : memref<1x?x64xf16, strided<[?, ?, 1]>> -> tensor<128x64xf16>
// CHECK: scf.for
// CHECK: tile.load %{{.*}} {tile.role = "load"} : memref<?x?xf32>
// CHECK: arith.select %{{.*}} : tensor<128x{{[0-9]+}}xi1>, tensor<128x{{[0-9]+}}xf32>
// CHECK: tile.store %{{.*}} below %[[END:.*]] : tensor<128x64xf16>, memref<1x?x64xf16
// CHECK: tile.store %{{.*}} below %{{.*}} : tensor<128x64xf16>, memref<1x?x64xf16

// CHECK-LABEL: gpu.func @packed_dq
// CHECK: tile.grid (%{{.*}}, %{{.*}}) in
// CHECK: tile.store %{{.*}} below %{{.*}} : tensor<128x64xf16>, memref<2x?x64xf16

// What a step gives to dq is added in blocks of rows of the sequence; dq is converted by sequences.
// FUSED-LABEL: gpu.func @packed_grads
// Added as it is: rows behind the end are the sequence's own.
// FUSED: %[[PART:.*]] = tile.dot {{.*}} lhs km
// FUSED: arith.floordivsi %{{.*}}, %c128
// FUSED: tile.store %[[PART]], %{{.*}} add : tensor<{{[0-9]+}}x64xf32>, memref<?x?x64xf32>
// FUSED-LABEL: gpu.func @packed_dq
// FUSED: arith.divui %{{.*}}, %c64
// FUSED: tile.grid (%{{.*}}, %{{.*}}) in
// FUSED: tile.scalar_load
// FUSED: tile.store %{{.*}} below %{{.*}} : tensor<64x64xf16>, memref<2x?x64xf16
func.func @packed(%q: tensor<?x2x64xf16>, %k: tensor<?x1x64xf16>, %v: tensor<?x1x64xf16>, %o: tensor<?x2x64xf16>, %lse: tensor<2x?xf32>, %do: tensor<?x?x64xf16>,
                  %cuq: tensor<?xi32>, %cuk: tensor<?xi32>)
    -> (tensor<?x2x64xf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16>) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do aux(%cuq, %cuk : tensor<?xi32>, tensor<?xi32>) layout bshd
      mods [#attention.packed<q = 0, k = 1>, #attention.causal]
    : (tensor<?x2x64xf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16>, tensor<?x2x64xf16>, tensor<2x?xf32>, tensor<?x?x64xf16>)
    -> (tensor<?x2x64xf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16>)
  return %dq, %dk, %dv : tensor<?x2x64xf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16>
}

// Of a padded batch there are tiles for what the arrays have room for, with max_q for so many
// queries.
// CHECK-LABEL: gpu.func @padded_dkdv
// CHECK: tile.grid (%{{.*}}, %{{.*}}, %[[B:.*]]) in
// CHECK: tile.scalar_load %{{.*}}[%[[B]]]
// CHECK: tile.store %{{.*}} below %{{.*}} : tensor<128x64xf16>
// CHECK-LABEL: gpu.func @padded_dq
// CHECK: %[[MOST:.*]] = arith.maxsi %{{.*}}, %c0
// CHECK: arith.ceildivsi %[[MOST]], %c128
// CHECK: arith.minsi
// CHECK: tile.store %{{.*}} below %{{.*}} : tensor<128x64xf16>
func.func @padded(%q: tensor<?x2x?x64xf16>, %lse: tensor<?x2x?xf32>, %used: tensor<?xi32>, %max: index)
    -> (tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>) {
  %sequences = attention.sequences max_q %max
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%used : tensor<?xi32>) sequences %sequences mods [#attention.used<q = 0, k = 0>]
    : (tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?xf32>, tensor<?x2x?x64xf16>)
    -> (tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>)
  return %g#0, %g#1, %g#2 : tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>
}
