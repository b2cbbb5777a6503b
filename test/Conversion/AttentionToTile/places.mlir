// Lengths and places as scalars of a kernel: loads and stores start at the place
// of a tile's first row, stores end at that of the sequence.
// RUN: fa3-opt %s -attention-expand-mods -attention-to-tile='block-m=64 block-n=64 pack-gqa=false' | FileCheck %s

// CHECK-LABEL: func.func @packed
// CHECK: cf.assert %{{.*}}, "k and v differ in length"
// CHECK: cf.assert %{{.*}}, "aux1 has fewer entries in dimension 0 than needed for all batches"
// CHECK-LABEL: gpu.func @packed
// Tiles for the rows there are, and one more for every sequence.
// CHECK: %[[WHOLE:.*]] = arith.divui %{{.*}}, %c64
// CHECK: %[[BATCH:.*]] = arith.maxsi
// CHECK: %[[TILES:.*]] = arith.addi %[[WHOLE]], %[[BATCH]]
// CHECK: tile.grid (%[[TILE:.*]], %[[H:.*]]) in (%[[TILES]], %{{.*}})
// The last sequence whose first tile is not behind this one.
// CHECK: %[[COUNT:.*]] = arith.maxsi %{{.*}}, %c1
// CHECK: %[[NEXT:.*]] = arith.addi %[[TILE]], %c1
// CHECK: %[[LIMIT:.*]] = arith.muli %[[NEXT]], %c64
// CHECK: %[[B:.*]] = tile.search %{{.*}} from %c1{{[_0-9]*}} to %[[COUNT]] below %[[LIMIT]] step %c64 most 4095
// CHECK: tile.scalar_load %{{.*}}[%[[B]]]
// CHECK: %[[M:.*]] = arith.maxsi
// CHECK: %[[FIRST:.*]] = arith.muli %[[M]], %c64
// CHECK: tile.scalar_load %{{.*}}[%[[B]]]
// CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %[[FIRST]]
// CHECK: tile.load %{{.*}}[%[[H]], %[[ROW]], %c0{{.*}}] : memref<2x?x64xf16
// CHECK: scf.for
// CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}, %c0{{.*}}] : memref<1x?x64xf16
// CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}, %c0{{.*}}] : memref<1x?x64xf16
// CHECK: tile.store %{{.*}}, %{{.*}}[%[[H]], %{{.*}}, %c0{{.*}}] below %[[END:.*]] : tensor<64x64xf16>
// CHECK: tile.store %{{.*}}, %{{.*}}[%[[H]], %{{.*}}] below %[[END]] : tensor<64xf32>
func.func @packed(%q: tensor<?x2x64xf16>, %k: tensor<?x1x64xf16>, %v: tensor<?x1x64xf16>, %cuq: tensor<?xi32>, %cuk: tensor<?xi32>, %max: index)
    -> (tensor<?x2x64xf16>, tensor<2x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v aux(%cuq, %cuk : tensor<?xi32>, tensor<?xi32>) max_q %max layout bshd
      mods [#attention.packed<q = 0, k = 1>]
    : (tensor<?x2x64xf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16>) -> (tensor<?x2x64xf16>, tensor<2x?xf32>)
  return %o, %lse : tensor<?x2x64xf16>, tensor<2x?xf32>
}
