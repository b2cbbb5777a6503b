// RUN: fa3-opt %s -attention-to-reference -split-input-file | FileCheck %s
// RUN: fa3-opt %s -attention-to-reference="precision=low" -split-input-file | FileCheck %s --check-prefix=LOW
// RUN: fa3-opt %s -attention-to-reference="slices wide-output" -split-input-file | FileCheck %s --check-prefix=SLICE

// The launch contract: strided memrefs, names, checks of what is dynamic, and
// the formula. What it computes is tested in unittests/Reference.

// CHECK-LABEL: func.func @plain(
// CHECK-SAME: %[[Q:.*]]: memref<?x4x?x64xf16, strided<[?, ?, ?, 1]>> {tile.dims = ["b", "h", "sq", "d"], tile.name = "q"}
// CHECK-SAME: %[[K:.*]]: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.dims = ["b", "hk", "sk", "d"], tile.name = "k"}
// CHECK-SAME: %[[V:.*]]: memref<?x?x?x32xf16, strided<[?, ?, ?, 1]>> {tile.dims = ["b", "hk", "sk", "dv"], tile.name = "v"}
// CHECK-SAME: %[[SCALE:.*]]: f32 {tile.name = "scale"}
// CHECK-SAME: %[[O:.*]]: memref<?x4x?x32xf16, strided<[?, ?, ?, 1]>> {tile.dims = ["b", "h", "sq", "dv"], tile.name = "o"}
// CHECK-SAME: %[[LSE:.*]]: memref<?x4x?xf32, strided<[?, ?, 1]>> {tile.dims = ["b", "h", "sq"], tile.name = "lse"}) {
// CHECK: cf.assert {{.*}}, "q and k differ in batch"
// CHECK: cf.assert {{.*}}, "q and v differ in batch"
// CHECK: cf.assert {{.*}}, "k and v differ in heads"
// CHECK: cf.assert {{.*}}, "k and v differ in length"
// CHECK: cf.assert {{.*}}, "q and o differ in batch"
// CHECK-NOT: cf.assert {{.*}}, "q and o differ in heads"
// CHECK: cf.assert {{.*}}, "q and o differ in length"
// CHECK: cf.assert {{.*}}, "q and lse differ in batch"
// CHECK: cf.assert {{.*}}, "q and lse differ in length"
// CHECK: cf.assert {{.*}}, "k has no heads"
// CHECK: cf.assert {{.*}}, "the heads of q are not a multiple of the heads of k"
// CHECK: %[[POSITIVE:.*]] = arith.cmpf ogt, %[[SCALE]]
// CHECK: cf.assert %[[POSITIVE]], "scale is not positive"
// CHECK: %[[FINITE:.*]] = arith.cmpf ole, %[[SCALE]], %{{.*}} : f32
// CHECK: cf.assert %[[FINITE]], "scale exceeds 2^16"
// CHECK: %[[ROW:.*]] = memref.alloc(%{{.*}}) : memref<?xf64>
// CHECK: scf.for
// CHECK: math.exp {{.*}} : f64
// CHECK: math.log {{.*}} : f64
// CHECK: memref.dealloc %[[ROW]]
// CHECK: return

// LOW-LABEL: func.func @plain(
// LOW: memref.alloc(%{{.*}}) : memref<?xf32>
// LOW: scf.for {{.*}} iter_args
// LOW: arith.constant 0.0
// LOW: %[[S:[0-9]+]] = scf.for {{.*}} -> (f32) {
// LOW-NEXT: memref.load
// LOW: %[[KS:.*]] = arith.mulf
// LOW: arith.truncf %[[KS]] : f32 to f16
// LOW: arith.truncf %[[S]] : f32 to f16
// LOW: math.exp {{.*}} : f32
// LOW: %[[P:.*]] = arith.divf
// LOW: arith.truncf %[[P]] : f32 to f16

// SLICE-LABEL: func.func @plain(
// SLICE-SAME: memref<?x4x?x32xf32, strided<[?, ?, ?, 1]>> {tile.dims = ["b", "h", "sq", "dv"], tile.name = "o"}
// SLICE-SAME: %[[FIRST:arg[0-9]+]]: index {tile.name = "first"}, %[[LAST:arg[0-9]+]]: index {tile.name = "last"}) -> index {
// SLICE: scf.for %{{.*}} = %[[FIRST]] to %[[LAST]]
// SLICE: return %{{.*}} : index
func.func @plain(%q: tensor<?x4x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x32xf16>, %scale: f32)
    -> (tensor<?x4x?x32xf16>, tensor<?x4x?xf32>) {
  %o, %lse = attention.forward %q, %k, %v scale %scale
    : (tensor<?x4x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x32xf16>) -> (tensor<?x4x?x32xf16>, tensor<?x4x?xf32>)
  return %o, %lse : tensor<?x4x?x32xf16>, tensor<?x4x?xf32>
}

// -----

// Static shapes need no checks; a result that is not returned is not computed;
// names and other attributes that are given stay; other functions stay.

// CHECK-LABEL: func.func private @static(
// CHECK-SAME: memref<1x1x16x64xbf16, strided<[?, ?, ?, 1]>> {some.attr, tile.dims = ["one", "h", "rows", "d"], tile.name = "query"}
// CHECK-SAME: {tile.dims = ["b", "hk", "sk", "d"], tile.name = "k"}
// CHECK-SAME: %{{.*}}: i32 {tile.name = "arg2"}
// CHECK-SAME: tile.name = "out"}) attributes {some.function = 1 : i64} {
// CHECK-NOT: cf.assert
// CHECK: arith.constant 2.500000e-01 : f32
// CHECK-NOT: math.log
// CHECK-LABEL: func.func @other(%{{.*}}: tensor<4xf32>) -> tensor<4xf32>
func.func private @static(%q: tensor<1x1x16x64xbf16> {tile.name = "query", tile.dims = ["one", "h", "rows", "d"], some.attr},
                          %kv: tensor<1x1x8x64xbf16>, %unused: i32)
    -> (tensor<1x1x16x64xbf16> {tile.name = "out"}) attributes {some.function = 1 : i64} {
  %scale = arith.constant 0.25 : f32
  %o, %lse = attention.forward %q, %kv, %kv scale %scale
    : (tensor<1x1x16x64xbf16>, tensor<1x1x8x64xbf16>, tensor<1x1x8x64xbf16>) -> (tensor<1x1x16x64xbf16>, tensor<1x1x16xf32>)
  return %o : tensor<1x1x16x64xbf16>
}
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }

// -----

// Regions: lengths, captured scalars, scalar code of the function, elements of
// auxiliary operands with the checks that keep the reads inside. lse may be
// returned first; bshd is seen through transposed views.

// CHECK-LABEL: func.func @regions(
// CHECK-SAME: %[[Q:arg0]]: memref<?x?x?x8xf16, strided<[?, ?, ?, 1]>> {tile.dims = ["b", "sq", "h", "d"], tile.name = "q"}
// CHECK-SAME: %[[T:[a-z0-9]+]]: memref<2x?x?xf32, strided<[?, ?, 1]>> {tile.dims = ["n0", "h", "sk"], tile.name = "aux0"}
// CHECK-SAME: %[[X:[a-z0-9]+]]: index {tile.name = "arg4"}
// CHECK-SAME: %{{[a-z0-9]+}}: memref<?x?x?xf32, strided<[?, ?, 1]>> {tile.dims = ["b", "h", "sq"], tile.name = "lse"}
// CHECK-SAME: %[[O:[a-z0-9]+]]: memref<?x?x?x8xf16, strided<[?, ?, ?, 1]>> {tile.dims = ["b", "sq", "h", "dv"], tile.name = "o"}
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
// CHECK: %[[SQ:.*]] = memref.dim %[[Q]], %[[C1]]
// CHECK: %[[SK:.*]] = memref.dim %{{.*}}, %[[C1]]
// CHECK: cf.assert %{{.*}}, "aux0 has fewer entries in dimension 1 than there are heads of q"
// CHECK: cf.assert %{{.*}}, "aux0 has fewer entries in dimension 2 than there are keys"
// CHECK: cf.assert %{{.*}}, "aux0 has fewer entries in dimension 2 than there are elements read"
// CHECK: %[[LIMIT:.*]] = arith.addi %{{.*}}, %[[X]] : index
// CHECK: memref.transpose %[[Q]] (d0, d1, d2, d3) -> (d0, d2, d1, d3)
// CHECK: scf.for %{{.*}} = {{.*}} {
// CHECK: scf.for %[[H:.*]] = {{.*}} {
// CHECK: scf.for %[[I:.*]] = {{.*}} {
// CHECK: scf.for %[[J:[a-z0-9]+]] = {{.*}} -> (f64) {
// CHECK: %[[OFFSET:.*]] = arith.subi %[[SK]], %[[SQ]] : index
// CHECK: %[[KEEP:.*]] = arith.cmpi slt, %[[OFFSET]], %[[LIMIT]] : index
// CHECK: scf.if %[[KEEP]] -> (f64) {
// CHECK: %[[S:.*]] = arith.truncf %{{.*}} : f64 to f32
// CHECK: %[[E:.*]] = memref.load %[[T]][%{{.*}}, %[[H]], %[[J]]]
// CHECK: %[[F:.*]] = memref.load %[[T]][%{{.*}}, %[[H]], %{{.*}}]
// CHECK: } else {
// CHECK: arith.constant 0xFFF0000000000000 : f64
func.func @regions(%q: tensor<?x?x?x8xf16>, %k: tensor<?x?x?x8xf16>, %v: tensor<?x?x?x8xf16>, %t: tensor<2x?x?xf32>, %x: index)
    -> (tensor<?x?x?xf32>, tensor<?x?x?x8xf16>) {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %q, %c1 : tensor<?x?x?x8xf16>
  %limit = arith.addi %n, %x : index
  %o, %lse = attention.forward %q, %k, %v aux(%t : tensor<2x?x?xf32>) layout bshd
    : (tensor<?x?x?x8xf16>, tensor<?x?x?x8xf16>, tensor<?x?x?x8xf16>) -> (tensor<?x?x?x8xf16>, tensor<?x?x?xf32>)
    score_mod (%s, %b, %h, %i, %j) {
      %c3 = arith.constant 3 : index
      %e = tensor.extract %t[%c1, %h, %j] : tensor<2x?x?xf32>
      %f = tensor.extract %t[%c1, %h, %c3] : tensor<2x?x?xf32>
      %g = arith.addf %e, %f : f32
      %r = arith.addf %s, %g : f32
      attention.yield %r : f32
    }
    mask_mod (%b, %h, %i, %j) {
      %sk = attention.length key
      %sq = attention.length query
      %offset = arith.subi %sk, %sq : index
      %keep = arith.cmpi slt, %offset, %limit : index
      attention.yield %keep : i1
    }
  return %lse, %o : tensor<?x?x?xf32>, tensor<?x?x?x8xf16>
}
