// Rows that a bulk copy brings in another order: a relabeling of rows that
// nothing but a product reads goes into the load, and that into copies of boxes
// over an array whose rows are split.
// RUN: fa3-opt %s -split-input-file -tile-assign-roles -tile-insert-rings | FileCheck %s --check-prefix=RINGS
// RUN: fa3-opt %s -split-input-file -pass-pipeline='builtin.module(fa3-specialize,fa3-pipeline,fa3-layout,tile-to-hopper)' | FileCheck %s --check-prefix=HOPPER

!a = memref<?x64xf16, strided<[?, 1]>>

// HOPPER-LABEL: func.func @host
// HOPPER-SAME: %{{.*}}: memref<?x64xf16, strided<[?, 1]>>, %[[B:[a-z0-9]+]]: memref<?x64xf16, strided<[?, 1]>>
// HOPPER: cf.assert %{{.*}}, "the rows of an array that are loaded in another order have to be a multiple of 4"
// HOPPER: %[[SPLIT:.*]] = memref.expand_shape %[[B]] {{\[\[}}0, 1], [2]] output_shape [%{{.*}}, 4, 64]
// HOPPER: hopper.tensormap.encode %[[SPLIT]] : {{.*}} -> <[4, 2, 64], f16, 128>
func.func @host(%a: !a, %b: !a, %c: memref<?x32xf32, strided<[?, 1]>>, %n: index) {
  tile.launch @m::@product blocks %n args(%a, %b, %c : !a, !a, memref<?x32xf32, strided<[?, 1]>>)
  return
}

gpu.module @m {
  // RINGS-LABEL: gpu.func @product
  // RINGS: tile.load.async %arg1[%{{.*}}, %{{.*}}], %{{.*}} rows [0, 2, 3, 1] {tile.role = "load"} : {{.*}}, <tensor<32x64xf16>>
  // RINGS-NOT: tile.relabel
  // RINGS-NOT: tile.role = "convert"

  // Four copies of eight rows: places 8 to 15 have rows 2, 3, 6, 7, ...
  // HOPPER-LABEL: gpu.func @product
  // HOPPER: hopper.tma.load %[[MAP:.*]][%[[BLOCK:.*]], %c0{{.*}}, %c0{{.*}}] to %[[BUFFER:.*]][%{{.*}}, %c0{{.*}}, %c0{{.*}}] signal {{.*}} <[4, 2, 64], f16, 128>
  // HOPPER: hopper.tma.load %[[MAP]][%[[BLOCK]], %c2{{.*}}, %c0{{.*}}] to %[[BUFFER]]
  // HOPPER: %[[NEXT:.*]] = arith.addi %[[BLOCK]], %c4{{.*}} : i32
  // HOPPER: hopper.tma.load %[[MAP]][%[[NEXT]], %c0{{.*}}, %c0{{.*}}] to %[[BUFFER]]
  // HOPPER: hopper.tma.load %[[MAP]][%{{.*}}, %c2{{.*}}, %c0{{.*}}] to %[[BUFFER]]
  gpu.func @product(%a: !a, %b: !a, %c: memref<?x32xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %id = gpu.block_id x
    %i = arith.muli %id, %c64 : index
    %j = arith.muli %id, %c32 : index
    %x = tile.load %a[%i, %c0] : !a -> tensor<64x64xf16>
    %y = tile.load %b[%j, %c0] : !a -> tensor<32x64xf16>
    %z = tile.relabel %y dim 0 bits [0, 2, 3, 1] : tensor<32x64xf16> -> tensor<32x64xf16>
    %r = tile.dot %x, %z, %zero lhs mk rhs nk : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
    tile.store %r, %c[%i, %c0] : tensor<64x32xf32>, memref<?x32xf32, strided<[?, 1]>>
    gpu.return
  }
}
