// The rows of a tile end at the next one's first: in the guard and the stores.
// RUN: fa3-opt %s -attention-to-tile="end-rows=true block-m=128 block-n=64" -canonicalize | FileCheck %s

// CHECK-LABEL: gpu.func @forward
// CHECK: tile.grid (%[[M:.*]], %{{.*}}, %{{.*}}) in
// CHECK: %[[FIRST:.*]] = arith.muli %[[M]], %c128
// CHECK: %[[NEXT:.*]] = arith.addi %[[M]], %c1
// CHECK: %[[END:.*]] = arith.muli %[[NEXT]], %c128
// The mask of the scores does not have it: those rows are stored by nobody.
// CHECK: scf.for
// CHECK: %[[ROWS:.*]] = tile.coord dim 0 offset %[[FIRST]] : tensor<128xindex>
// CHECK: %[[KEEP:.*]] = tile.broadcast %{{.*}} dim 0 : tensor<64xi1>
// CHECK: %[[ENDS:.*]] = tensor.splat %[[END]] : tensor<128xindex>
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[ROWS]], %[[ENDS]]
// CHECK: %[[WIDE:.*]] = tile.broadcast %[[INSIDE]] dim 1
// CHECK: %[[NEEDED:.*]] = arith.andi %[[KEEP]], %[[WIDE]]
// CHECK: tile.any_possible %[[NEEDED]]
// CHECK: arith.select %[[KEEP]],
// CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %[[FIRST]], %{{.*}}] below %[[END]] : tensor<128x64xf16>
// CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %[[FIRST]]] below %[[END]] : tensor<128xf32>
func.func @forward(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>)
    -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>)
    -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}
