// RUN: fa3-opt %s -attention-to-tile=block-n=64 -canonicalize | FileCheck %s
// RUN: fa3-opt %s '-attention-to-tile=block-m=128 block-n=32 rescale=eager' -canonicalize | FileCheck %s --check-prefix=EAGER
// RUN: fa3-opt %s -attention-to-tile=rescale-threshold=4 -canonicalize | FileCheck %s --check-prefix=FOUR
// RUN: %stages-window --pass attention-to-tile
// RUN: %stages %fa3_src/examples/alibi_bias.mlir --pass attention-to-tile --dims b=1,h=2,hk=1,sq=40,sk=70 --run=--scalar=strength=0.5
// RUN: %stages %fa3_src/examples/prefix_lm.mlir --pass attention-to-tile --dims b=1,sq=3,sk=100 --run=--scalar=prompt=20 --options rescale=eager

!q = tensor<?x4x?x64xf16>
!k = tensor<?x2x?x64xf16>
!v = tensor<?x2x?x32xf16>
!o = tensor<?x4x?x32xf16>
!l = tensor<?x4x?xf32>

// The host function: results are arguments, extents are checked, the launch has
// its arguments and cost.
// CHECK-LABEL: func.func @full(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<?x4x?x64xf16, strided<[?, ?, ?, 1]>> {tile.dims = ["b", "h", "sq", "d"], tile.name = "q"}
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<?x2x?x64xf16,
// CHECK-SAME: %[[V:[a-z0-9]+]]: memref<?x2x?x32xf16,
// CHECK-SAME: %[[O:[a-z0-9]+]]: memref<?x4x?x32xf16,
// CHECK-SAME: %[[L:[a-z0-9]+]]: memref<?x4x?xf32,
// CHECK: cf.assert {{.*}}, "q and k differ in batch"
// CHECK: cf.assert {{.*}}, "k and v differ in length"
// CHECK: cf.assert {{.*}}, "q and lse differ in length"
// CHECK: tile.launch @full_kernels::@full args(%[[Q]], %[[K]], %[[V]], %[[O]], %[[L]] :{{.*}}) cost(%{{.*}}, %{{.*}})

// CHECK-LABEL: gpu.func @full(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: {{[^%]*}} %[[K:[a-z0-9]+]]: {{[^%]*}} %[[V:[a-z0-9]+]]: {{[^%]*}} %[[O:[a-z0-9]+]]: {{[^%]*}} %[[L:[a-z0-9]+]]:
// CHECK: tile.grid (%[[M:.*]], %[[H:.*]], %[[B:.*]]) in
// CHECK: %[[I0:.*]] = arith.muli %[[M]], %c256
// Two query heads share a key head.
// CHECK: %[[HK:.*]] = arith.divui %[[H]], %c2
// CHECK: tile.load %[[Q]][%[[B]], %[[H]], %[[I0]], %c0]
// CHECK: scf.for %[[T:.*]] = %c0{{.*}} iter_args({{.*}}) -> (tensor<256x32xf32>, tensor<256xf32>, tensor<256x8xf32>)
// From the last block of keys to the first.
// CHECK: %[[LAST:.*]] = arith.subi %{{.*}}, %c1
// CHECK: %[[BLOCK:.*]] = arith.subi %[[LAST]], %[[T]]
// CHECK: %[[J0:.*]] = arith.muli %[[BLOCK]], %c64
// CHECK: tile.load %[[K]][%[[B]], %[[HK]], %[[J0]], %c0] : {{.*}} -> tensor<64x64xf16>
// CHECK: tile.load %[[V]][%[[B]], %[[HK]], %[[J0]], %c0] : {{.*}} -> tensor<64x32xf16>
// Only the end of the keys is masked, by columns.
// CHECK: tile.coord dim 0 offset %[[J0]] : tensor<64xindex>
// CHECK: %[[LIVE:.*]] = tile.any_possible
// CHECK: scf.if %[[LIVE]]
// CHECK: %[[S:.*]] = tile.dot {{.*}} lhs mk rhs nk
// CHECK: arith.select %{{.*}}, %[[S]]
// CHECK: tile.reduce max
// CHECK: %[[GROWN:.*]] = arith.cmpf ogt, {{.*}} : tensor<256xf32>
// CHECK: %[[SUMS:.*]] = tile.reduce add {{.*}} modulo 8
// Output and sums are rescaled in one branch, which has the factor to itself.
// CHECK: %[[OLD:.*]]:2 = tile.where %[[GROWN]] else {{.*}} : tensor<256xi1>, tensor<256x32xf32>, tensor<256x8xf32>
// CHECK: math.exp2 {{.*}} : tensor<256xf32>
// CHECK: arith.addf %[[OLD]]#1, %[[SUMS]]
// CHECK: tile.dot %{{.*}}, %{{.*}}, %[[OLD]]#0 lhs mk rhs kn
// CHECK: } else {
// CHECK-NEXT: scf.yield
// CHECK: tile.store %{{.*}}, %[[O]][%[[B]], %[[H]], %[[I0]], %c0]
// CHECK: tile.store %{{.*}}, %[[L]][%[[B]], %[[H]], %[[I0]]]

// EAGER-LABEL: gpu.func @full
// EAGER: tile.load {{.*}} -> tensor<128x64xf16>
// EAGER: tile.load {{.*}} -> tensor<32x64xf16>
// EAGER: tile.reduce max
// EAGER: arith.maxnumf
// EAGER-NOT: tile.where
// EAGER: math.fma
// EAGER-NOT: tile.where
// EAGER: tile.store

// FOUR-LABEL: gpu.func @full
// FOUR: arith.constant dense<4.000000e+00> : tensor<{{[0-9]+}}xf32>
func.func @full(%q: !q, %k: !k, %v: !v) -> (!o, !l) {
  %o, %lse = attention.forward %q, %k, %v : (!q, !k, !v) -> (!o, !l)
  return %o, %lse : !o, !l
}

// Each value of a region has the lowest rank that it needs: per head a scalar,
// per query or key a vector, per pair a tile. An element per pair is loaded.
// CHECK-LABEL: gpu.func @ranks(
// CHECK: %[[SLOPE:.*]] = tile.scalar_load
// CHECK: arith.mulf %[[SLOPE]], %[[SLOPE]] : f32
// CHECK: tile.load {{.*}} -> tensor<64xf32>
// CHECK: tile.load {{.*}} -> tensor<192x64xf32>
func.func @ranks(%q: !q, %k: !k, %v: !v, %slopes: tensor<4xf32>, %columns: tensor<?xf32>, %bias: tensor<?x?xf32>) -> !o {
  %o = attention.forward %q, %k, %v aux(%slopes, %columns, %bias : tensor<4xf32>, tensor<?xf32>, tensor<?x?xf32>) : (!q, !k, !v) -> !o
    score_mod (%s, %b, %h, %i, %j) {
      %slope = tensor.extract %slopes[%h] : tensor<4xf32>
      %square = arith.mulf %slope, %slope : f32
      %column = tensor.extract %columns[%j] : tensor<?xf32>
      %pair = tensor.extract %bias[%i, %j] : tensor<?x?xf32>
      %0 = arith.addf %s, %square : f32
      %1 = arith.addf %0, %column : f32
      %2 = arith.addf %1, %pair : f32
      attention.yield %2 : f32
    }
  return %o : !o
}

// Another layout is a matter of the host, which passes views; no lse, no store
// of it.
// CHECK-LABEL: func.func @bshd(
// CHECK: memref.transpose %arg0 (d0, d1, d2, d3) -> (d0, d2, d1, d3)
// CHECK: tile.launch
// CHECK-LABEL: gpu.func @bshd(
// CHECK: tile.grid (%[[M:.*]], %[[H:.*]], %[[B:.*]]) in
// CHECK: tile.load %{{.*}}[%[[B]], %[[H]], %{{.*}}, %c0]
// CHECK-COUNT-1: tile.store
// CHECK-NOT: tile.store
// CHECK: gpu.return
func.func @bshd(%q: tensor<1x?x4x64xbf16>, %k: tensor<1x?x4x64xbf16>, %v: tensor<1x?x4x64xbf16>) -> tensor<1x?x4x64xbf16> {
  %o = attention.forward %q, %k, %v layout bshd : (tensor<1x?x4x64xbf16>, tensor<1x?x4x64xbf16>, tensor<1x?x4x64xbf16>) -> tensor<1x?x4x64xbf16>
  return %o : tensor<1x?x4x64xbf16>
}

// A positive factor of the yielded score goes into that of the exponents, 3 *
// log2(e), if its flags allow it.
// CHECK-LABEL: gpu.func @factor(
// CHECK: arith.constant dense<4.32808495> : tensor<256xf32>
// CHECK: tile.dot
// CHECK: %[[S:.*]] = arith.mulf {{.*}} fastmath<reassoc,contract>
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[S]]
// CHECK-NEXT: arith.select %{{.*}}, %[[T]]
func.func @factor(%q: !q, %k: !k, %v: !v) -> !o {
  %o = attention.forward %q, %k, %v : (!q, !k, !v) -> !o
    score_mod (%s, %b, %h, %i, %j) {
      %three = arith.constant 3.0 : f32
      %t = math.tanh %s : f32
      %0 = arith.mulf %t, %three fastmath<reassoc> : f32
      attention.yield %0 : f32
    }
  return %o : !o
}

// Without the flag, or with a factor that is not positive, it stays.
// CHECK-LABEL: gpu.func @no_factor(
// CHECK-NOT: dense<4.32808495>
// CHECK: math.tanh
// CHECK-NEXT: arith.mulf
// CHECK-LABEL: gpu.func @negative(
// CHECK: math.tanh
// CHECK-NEXT: arith.mulf
func.func @no_factor(%q: !q, %k: !k, %v: !v) -> !o {
  %o = attention.forward %q, %k, %v : (!q, !k, !v) -> !o
    score_mod (%s, %b, %h, %i, %j) {
      %three = arith.constant 3.0 : f32
      %t = math.tanh %s : f32
      %0 = arith.mulf %t, %three : f32
      attention.yield %0 : f32
    }
  return %o : !o
}
func.func @negative(%q: !q, %k: !k, %v: !v) -> !o {
  %o = attention.forward %q, %k, %v : (!q, !k, !v) -> !o
    score_mod (%s, %b, %h, %i, %j) {
      %three = arith.constant -3.0 : f32
      %t = math.tanh %s : f32
      %0 = arith.mulf %t, %three fastmath<reassoc> : f32
      attention.yield %0 : f32
    }
  return %o : !o
}

// Functions without attention are not touched.
// CHECK-LABEL: func.func @other(
// CHECK-NEXT: return %arg0 : tensor<4xf32>
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
