// RUN: fa3-opt %s -attention-expand-mods -attention-to-tile -canonicalize -cse | FileCheck %s

// One kernel for what is turned and what is appended, in front of attention. A
// tile is one row of up to 64 heads; what is appended is turned on the way, and
// the turned queries are memory of the call.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<?x?x4x64xf16, strided<[?, ?, ?, 1]>> {tile.dims = ["b", "sq", "h", "d"], tile.name = "q"}
// CHECK-SAME: %[[KN:[a-z0-9]+]]: memref<?x?x2x64xf16, strided<[?, ?, ?, 1]>> {tile.dims = ["b", "t", "hk", "d"], tile.name = "k_new"}
// CHECK-SAME: %[[VN:[a-z0-9]+]]: memref<?x?x2x64xf16, strided<[?, ?, ?, 1]>> {tile.dims = ["b", "t", "hk", "d"], tile.name = "v_new"}
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<?x16x2x64xf16, strided<[?, ?, ?, 1]>> {tile.dims = ["p0", "tk", "hk", "d"], tile.name = "k"}
// CHECK-SAME: tile.dims = ["pos", "r"], tile.name = "cos"
// CHECK-SAME: tile.dims = ["b"], tile.name = "first"
// CHECK: cf.assert %{{.*}}, "cos and sin differ in positions"
// CHECK: %[[MEMORY:.*]] = memref.alloc(%{{.*}}, %{{.*}}) {tile.name = "q_rotated"} : memref<?x?x4x64xf16>
// CHECK: %[[TURNED:.*]] = memref.cast %[[MEMORY]]
// CHECK: cf.assert %{{.*}}, "what is turned or appended differs in batch"
// CHECK: memref.transpose %[[TURNED]]
// CHECK: tile.launch @step_kernels::@step_update args(%[[Q]], %[[TURNED]], %{{.*}}, %{{.*}}, %{{.*}}, %[[KN]], %[[K]], %{{.*}}, %[[VN]], %{{.*}} :
// CHECK: tile.launch @step_kernels::@step args(

// Number 0 is the tile of q, 1 that of k, 2 that of v.
// CHECK-LABEL: gpu.func @step_update(
// CHECK: tile.grid (%[[T:.*]], %[[N:.*]], %[[B:.*]]) in (%{{.*}}, %c3, %{{.*}}) {
// CHECK: arith.cmpi slt, %[[N]], %c1
// CHECK: scf.if
// CHECK: tile.scalar_load %{{.*}}[%[[B]]]
// CHECK: %[[ANGLE:.*]] = arith.minsi
// CHECK: %[[X0:.*]] = tile.load %{{.*}}[%[[B]], %[[T]], %{{.*}}, %c0] : {{.*}} -> tensor<64x16xf16>
// CHECK: arith.extf %[[X0]]
// CHECK: tile.load %{{.*}}[%[[B]], %[[T]], %{{.*}}, %c16] : {{.*}} -> tensor<64x16xf16>
// CHECK: tile.load %{{.*}}[%[[ANGLE]], %c0] : {{.*}} -> tensor<16xf32>
// CHECK: arith.subf
// CHECK: arith.addf
// CHECK: tile.store %{{.*}}, %{{.*}}[%[[B]], %[[T]], %{{.*}}, %c0]
// CHECK: tile.store %{{.*}}, %{{.*}}[%[[B]], %[[T]], %{{.*}}, %c16]
// The rest of the row, as it is.
// CHECK: %[[REST:.*]] = tile.load %{{.*}}[%[[B]], %[[T]], %{{.*}}, %c32] : {{.*}} -> tensor<64x32xf16>
// CHECK: tile.store %[[REST]]
// CHECK: scf.if
// A key below 0, or in no page of the cache, has heads that no array has.
// CHECK: %[[KEY:.*]] = arith.addi %{{.*}}, %[[T]]
// CHECK: arith.cmpi sge, %[[KEY]], %c0
// CHECK: %[[AT:.*]] = arith.maxsi %[[KEY]], %c0
// CHECK: arith.divui %[[AT]], %c16
// CHECK: arith.cmpi ult
// CHECK: %[[HEAD:.*]] = arith.select %{{.*}}, %{{.*}}, %c2
// CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %[[HEAD]], %c0]

func.func @step(%q: tensor<?x?x4x64xf16>, %kn: tensor<?x?x2x64xf16>, %vn: tensor<?x?x2x64xf16>,
    %k: tensor<?x16x2x64xf16>, %v: tensor<?x16x2x64xf16>, %cos: tensor<?x16xf32>, %sin: tensor<?x16xf32>,
    %first: tensor<?xi32>, %table: tensor<?x?xi32>) -> tensor<?x?x4x64xf16> {
  %tq = attention.rotary %q, %cos, %sin at %first layout bshd : tensor<?x?x4x64xf16>, tensor<?x16xf32>, tensor<?xi32>
  %tk = attention.rotary %kn, %cos, %sin at %first layout bshd : tensor<?x?x2x64xf16>, tensor<?x16xf32>, tensor<?xi32>
  %k1 = attention.append %tk, %k at %first aux(%table : tensor<?x?xi32>) layout bshd
      mods [#attention.paged<table = 0>] : tensor<?x?x2x64xf16>, tensor<?x16x2x64xf16>, tensor<?xi32>
  %v1 = attention.append %vn, %v at %first aux(%table : tensor<?x?xi32>) layout bshd
      mods [#attention.paged<table = 0>] : tensor<?x?x2x64xf16>, tensor<?x16x2x64xf16>, tensor<?xi32>
  %o = attention.forward %tq, %k1, %v1 aux(%table : tensor<?x?xi32>) layout bshd mods [#attention.paged<table = 0>]
    : (tensor<?x?x4x64xf16>, tensor<?x16x2x64xf16>, tensor<?x16x2x64xf16>) -> tensor<?x?x4x64xf16>
  return %o : tensor<?x?x4x64xf16>
}
