// An operand of 4 bits on its way to products, by roles, rings, groups and
// layouts, and to vectors of words: C = A * unpacked B.

// RUN: fa3-opt %s -tile-map-grid -tile-assign-roles | FileCheck %s --check-prefix=ROLES
// RUN: fa3-opt %s -tile-map-grid -tile-assign-roles -tile-insert-rings -canonicalize | FileCheck %s --check-prefix=RINGS
// RUN: fa3-opt %s -tile-map-grid -fa3-specialize="store=direct" -tile-assign-layouts | FileCheck %s --check-prefix=LAYOUTS
// RUN: fa3-run --cpu %s --function=host --dims m=64,k=128,n=128 --check-each-pass | FileCheck %s --check-prefix=SAME

// SAME: same answer after {{[0-9]+}} passes

// ROLES: %[[B:.*]] = tile.load %arg1{{.*}} {tile.role = "load"}
// ROLES: tile.unpack %[[B]] {tile.role = "convert"} : tensor<64x64xi8> -> tensor<64x128xbf16>

// Windows of 32 rows by 64 bytes, whose halves are 64 columns apart.
// RINGS: %[[L:.*]] = warp.ring : <1, [tensor<64x64xi8>]>
// RINGS: %[[T:.*]] = warp.ring : <1, [tensor<64x128xbf16>]>
// RINGS: %[[FROM:.*]], %{{.*}} = warp.acquire %[[L]]{{.*}} {tile.role = "convert"}
// RINGS: %[[TO:.*]], %{{.*}} = warp.acquire %[[T]]{{.*}} {tile.role = "convert"}
// RINGS: %[[V:.*]] = tile.view %[[FROM]][%c0, %c0] {tile.role = "convert"}
// RINGS: %[[X:.*]] = tile.read %[[V]] {tile.role = "convert"} : <tensor<32x64xi8>> -> tensor<32x64xi8>
// RINGS: %[[Y:.*]] = tile.unpack %[[X]] {tile.role = "convert"} : tensor<32x64xi8> -> tensor<32x128xbf16>
// RINGS: %[[LOW:.*]] = tensor.extract_slice %[[Y]][0, 0] [32, 64] [1, 1]
// RINGS: %[[W:.*]] = tile.view %[[TO]][%c0, %c0] {tile.role = "convert"}
// RINGS: tile.write %[[LOW]], %[[W]] {tile.role = "convert"}
// RINGS: %[[HIGH:.*]] = tensor.extract_slice %[[Y]][0, 64] [32, 64] [1, 1]
// RINGS: %[[W:.*]] = tile.view %[[TO]][%c0, %c64] {tile.role = "convert"}
// RINGS: tile.write %[[HIGH]], %[[W]] {tile.role = "convert"}
// RINGS: tile.view %[[FROM]][%c32, %c0]
// RINGS: warp.publish %[[TO]] {tile.role = "convert"}
// RINGS: warp.release %[[FROM]] {tile.role = "convert"}
// RINGS: warp.acquire %[[T]]{{.*}} {tile.role = "math"}

// LAYOUTS: tile.unpack %{{.*}} : tensor<32x64xi8, #tile.transposing> -> tensor<32x128xbf16, #tile.transposing>

!a = memref<?x?xbf16, strided<[?, 1]>>
!b = memref<?x64xi8, strided<[?, 1]>>
!c = memref<?x?xf32, strided<[?, 1]>>
gpu.module @m {
  gpu.func @gemm(%a: !a, %b: !b, %c: !c, %n: index) kernel {
    %c1 = arith.constant 1 : index
    tile.grid (%i) in (%c1) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %zero = arith.constant dense<0.0> : tensor<64x128xf32>
      %sum = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x128xf32>) {
        %x = tile.load %a[%c0, %k] : !a -> tensor<64x64xbf16>
        %y = tile.load %b[%k, %c0] : !b -> tensor<64x64xi8>
        %z = tile.unpack %y : tensor<64x64xi8> -> tensor<64x128xbf16>
        %r = tile.dot %x, %z, %acc lhs mk rhs kn : tensor<64x64xbf16>, tensor<64x128xbf16> -> tensor<64x128xf32>
        scf.yield %r : tensor<64x128xf32>
      }
      tile.store %sum, %c[%c0, %c0] : tensor<64x128xf32>, !c
    }
    gpu.return
  }
}
func.func @host(%a: !a {tile.name = "a", tile.dims = ["m", "k"]}, %b: !b {tile.name = "b", tile.dims = ["k", "bytes"]}, %c: !c {tile.name = "c", tile.dims = ["m", "n"], tile.access = "write"}) {
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c1 : !a
  tile.launch @m::@gemm args(%a, %b, %c, %n : !a, !b, !c, index)
  return
}
