// RUN: fa3-opt %s -attention-to-tile -split-input-file | FileCheck %s

// attention.merge becomes one kernel: a tile is 64 rows, which 32 heads of two
// queries are, and 8 columns; a loop goes over eight parts at a time, others over
// four, two and one of those that are left.

// CHECK-LABEL: func.func @merge(
// CHECK-SAME: tile.dims = ["parts", "b", "s", "h", "d"], tile.name = "o_parts"
// CHECK-SAME: tile.dims = ["parts", "b", "h", "s"], tile.name = "lse_parts"
// CHECK-SAME: tile.dims = ["h"], tile.name = "sinks"
// CHECK-SAME: tile.dims = ["b", "s", "h", "d"], tile.name = "o"
// CHECK-SAME: tile.dims = ["b", "h", "s"], tile.name = "lse"
// CHECK-DAG: cf.assert %{{.*}}, "o_parts and lse_parts differ in parts"
// CHECK-DAG: cf.assert %{{.*}}, "o and o_parts differ in batch"
// CHECK-DAG: cf.assert %{{.*}}, "o and lse_parts differ in rows"
// CHECK-DAG: cf.assert %{{.*}}, "o and lse differ in rows"
// CHECK-DAG: cf.assert %{{.*}}, "sinks has another number of heads than o"
// CHECK: tile.launch @merge_kernels::@merge args(

// CHECK: gpu.func @merge(%[[O:[^:]*]]: memref<?x4x?x8x128xbf16, {{[^%]*}}%[[LSE:[^:]*]]: memref<?x4x?x8xf32, {{[^%]*}}%[[SINKS:[^:]*]]: memref<?xf32, {{[^%]*}}%[[PARTS:[^:]*]]: memref<?x?x4x?x8x128xf32, {{[^%]*}}%[[LSES:[^:]*]]: memref<?x?x4x?x8xf32
// CHECK: tile.grid (%[[M:.*]], %[[C:.*]], %[[H:.*]], %[[B:.*]]) in
// CHECK: %[[COLUMN:.*]] = arith.muli %[[C]], %c8
// CHECK: %[[N:.*]] = memref.dim %[[PARTS]], %c0
// CHECK: %[[REST:.*]] = arith.remui %[[N]], %c8
// CHECK: %[[END:.*]] = arith.subi %[[N]], %[[REST]]
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[END]] step %c8
// CHECK: %[[PART:.*]] = arith.addi %[[I]], %c0
// CHECK: tile.load %[[LSES]][%[[PART]], %[[B]], %[[H]], %{{.*}}, %{{.*}}] fold 8 {tile.role = "math"} : {{.*}} -> tensor<64xf32>
// CHECK: %[[X:.*]] = tile.load %[[PARTS]][%[[PART]], %[[B]], %[[H]], %{{.*}}, %{{.*}}, %[[COLUMN]]] fold 8 {tile.role = "math"} : {{.*}} -> tensor<64x8xf32>
// CHECK-COUNT-7: tile.load %[[PARTS]]
// CHECK-NOT: tile.load
// CHECK: math.exp2
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[X]] : tensor<64x8xi1>, tensor<64x8xf32>
// CHECK: scf.for %{{.*}} = %[[END]] to %{{.*}} step %c4
// CHECK-COUNT-4: tile.load %[[PARTS]]
// CHECK: scf.for {{.*}} step %c2
// CHECK-COUNT-2: tile.load %[[PARTS]]
// CHECK: scf.for {{.*}} step %c1
// CHECK: tile.load %[[PARTS]]
// CHECK: tile.scalar_load %[[SINKS]]
// CHECK: tile.store %{{.*}}, %[[O]][%[[B]], %[[H]], %{{.*}}, %{{.*}}, %[[COLUMN]]] fold 8
// CHECK: scf.if
// CHECK: tile.store %{{.*}}, %[[LSE]][
func.func @merge(%p: tensor<?x?x?x32x128xf32>, %l: tensor<?x?x32x?xf32>, %s: tensor<?xf32>)
    -> (tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>) {
  %o, %lse = attention.merge %p, %l sinks(%s : tensor<?xf32>) layout bshd
    : tensor<?x?x?x32x128xf32>, tensor<?x?x32x?xf32> -> tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>
  return %o, %lse : tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>
}

// -----

// Without batch, and heads that the compiler does not know.

// CHECK-LABEL: gpu.func @packed(
// CHECK: tile.grid (%[[M:.*]], %[[C:.*]], %[[H:.*]]) in
// CHECK: tile.load %{{.*}}[%{{.*}}, %[[H]], %{{.*}}] {tile.role = "math"} : {{.*}} -> tensor<64xf32>
// CHECK: %[[X:.*]] = tile.load %{{.*}}[%{{.*}}, %[[H]], %{{.*}}, %{{.*}}] {tile.role = "math"} : {{.*}} -> tensor<64x8xf16>
// CHECK: arith.extf %[[X]]
// CHECK-NOT: %lse
// CHECK: tile.store
// CHECK-NOT: tile.store
func.func @packed(%p: tensor<?x?x?x24xf16>, %l: tensor<?x?x?xf32>) -> tensor<?x?x24xf32> {
  %o, %lse = attention.merge %p, %l : tensor<?x?x?x24xf16>, tensor<?x?x?xf32> -> tensor<?x?x24xf32>, tensor<?x?xf32>
  return %o : tensor<?x?x24xf32>
}
