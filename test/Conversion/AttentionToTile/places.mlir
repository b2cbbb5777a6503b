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
// Values behind the last key read as zeros; the scores of keys there are masked.
// CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}, %c0{{.*}}] : memref<1x?x64xf16
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %{{.*}} : index
// CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}, %c0{{.*}}] limit %[[LEFT]] : memref<1x?x64xf16
// CHECK: tile.store %{{.*}}, %{{.*}}[%[[H]], %{{.*}}, %c0{{.*}}] below %[[END:.*]] : tensor<64x64xf16>
// CHECK: tile.store %{{.*}}, %{{.*}}[%[[H]], %{{.*}}] below %[[END]] : tensor<64xf32>
func.func @packed(%q: tensor<?x2x64xf16>, %k: tensor<?x1x64xf16>, %v: tensor<?x1x64xf16>, %cuq: tensor<?xi32>, %cuk: tensor<?xi32>, %max: index)
    -> (tensor<?x2x64xf16>, tensor<2x?xf32>) {
  %sequences = attention.sequences max_q %max
  %o, %lse = attention.forward %q, %k, %v aux(%cuq, %cuk : tensor<?xi32>, tensor<?xi32>) sequences %sequences layout bshd
      mods [#attention.packed<q = 0, k = 1>]
    : (tensor<?x2x64xf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16>) -> (tensor<?x2x64xf16>, tensor<2x?xf32>)
  return %o, %lse : tensor<?x2x64xf16>, tensor<2x?xf32>
}

// Scales are those of the sequence that the tile is found to be of; pages leave
// 8-bit blocks of multiples of 32 keys.
// CHECK-LABEL: gpu.func @scales
// CHECK: tile.grid
// CHECK: %[[B:.*]] = arith.minsi
// CHECK: tile.load {{.*}} -> tensor<64x64xf8E4M3FN>
// CHECK: %[[OF:.*]] = arith.divui
// CHECK: tile.scalar_load %{{.*}}[%[[OF]], %c0{{.*}}, %c0{{.*}}] : memref<?x1x1xf32
// CHECK: tile.scalar_load %{{.*}}[%c0{{.*}}, %{{.*}}, %c0{{.*}}] : memref<1x2x1xf32
// CHECK: tile.scalar_load %{{.*}}[%c0{{.*}}, %c0{{.*}}, %c0{{.*}}] : memref<1x1x1xf32
// CHECK: scf.for
func.func @scales(%q: tensor<?x4x64xf8E4M3FN>, %k: tensor<?x2x64xf8E4M3FN>, %cu: tensor<?xi32>, %max: index,
                  %qs: tensor<?x1x1xf32>, %ks: tensor<1x2x1xf32>, %vs: tensor<1x1x1xf32>) -> tensor<?x4x64xbf16> {
  %sequences = attention.sequences max_q %max
  %o = attention.forward %q, %k, %k aux(%cu : tensor<?xi32>)
      scales(%qs, %ks, %vs : tensor<?x1x1xf32>, tensor<1x2x1xf32>, tensor<1x1x1xf32>) sequences %sequences layout bshd
      mods [#attention.packed<q = 0, k = 0>]
    : (tensor<?x4x64xf8E4M3FN>, tensor<?x2x64xf8E4M3FN>, tensor<?x2x64xf8E4M3FN>) -> tensor<?x4x64xbf16>
  return %o : tensor<?x4x64xbf16>
}

// RUN: fa3-opt %s -attention-expand-mods -attention-to-tile | FileCheck %s --check-prefix=PAGES
// PAGES-LABEL: gpu.func @scales_pages
// PAGES: tile.load {{.*}} pieces 8 (
// PAGES: } : {{.*}} -> tensor<128x64xf8E4M3FN>
func.func @scales_pages(%q: tensor<?x4x?x64xf8E4M3FN>, %k: tensor<?x2x112x64xf8E4M3FN>, %used: tensor<?xi32>, %table: tensor<?x?xi32>,
                        %s: tensor<1x1x1xf32>) -> tensor<?x4x?x64xbf16> {
  %o = attention.forward %q, %k, %k aux(%used, %table : tensor<?xi32>, tensor<?x?xi32>)
      scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
      mods [#attention.used<k = 0>, #attention.paged<table = 1>]
    : (tensor<?x4x?x64xf8E4M3FN>, tensor<?x2x112x64xf8E4M3FN>, tensor<?x2x112x64xf8E4M3FN>) -> tensor<?x4x?x64xbf16>
  return %o : tensor<?x4x?x64xbf16>
}
