// An 8-bit operand on its way to products, by roles, rings, groups and layouts.
// The kernel is a plain product, C = A * B with B row by row.

// RUN: fa3-opt %s -tile-transpose-operands -tile-assign-roles | FileCheck %s --check-prefix=ROLES
// RUN: fa3-opt %s -tile-transpose-operands -tile-assign-roles -tile-insert-rings -canonicalize | FileCheck %s --check-prefix=RINGS
// RUN: fa3-opt %s -fa3-specialize="store=direct" | FileCheck %s --check-prefix=GROUPS
// RUN: fa3-opt %s -fa3-specialize="store=direct" -tile-assign-layouts | FileCheck %s --check-prefix=LAYOUTS
// RUN: fa3-opt %s -fa3-specialize="store=direct" -tile-size-rings="max-depth=2 smem-budget=32768" | FileCheck %s --check-prefix=DEPTH

// ROLES: %[[B:.*]] = tile.load %arg1{{.*}} {tile.role = "load"}
// ROLES: tile.transpose %[[B]] {tile.role = "convert"} : tensor<64x128xf8E4M3FN> -> tensor<128x64xf8E4M3FN>

// Windows of 32 rows by 64 columns; the entry is handed on when all are there.
// RINGS: %[[L:.*]] = warp.ring : <1, [tensor<64x128xf8E4M3FN>]>
// RINGS: %[[T:.*]] = warp.ring : <1, [tensor<128x64xf8E4M3FN>]>
// RINGS: tile.load.async %arg1
// RINGS: %[[FROM:.*]], %{{.*}} = warp.acquire %[[L]]{{.*}} {tile.role = "convert"}
// RINGS: %[[TO:.*]], %{{.*}} = warp.acquire %[[T]]{{.*}} {tile.role = "convert"}
// RINGS: %[[V:.*]] = tile.view %[[FROM]][%c0, %c0] {tile.role = "convert"}
// RINGS: %[[X:.*]] = tile.read %[[V]] {tile.role = "convert"} : <tensor<32x64xf8E4M3FN>> -> tensor<32x64xf8E4M3FN>
// RINGS: %[[Y:.*]] = tile.transpose %[[X]] {tile.role = "convert"} : tensor<32x64xf8E4M3FN> -> tensor<64x32xf8E4M3FN>
// RINGS: %[[W:.*]] = tile.view %[[TO]][%c0, %c0] {tile.role = "convert"}
// RINGS: tile.write %[[Y]], %[[W]] {tile.role = "convert"}
// RINGS: tile.view %[[FROM]][%c0, %c64]
// RINGS: tile.view %[[TO]][%c64, %c0]
// RINGS: tile.view %[[FROM]][%c32, %c64]
// RINGS: tile.view %[[TO]][%c64, %c32]
// RINGS: warp.publish %[[TO]] {tile.role = "convert"}
// RINGS: warp.release %[[FROM]] {tile.role = "convert"}
// RINGS: warp.acquire %[[T]]{{.*}} {tile.role = "math"}

// GROUPS: warp.group @load warps 1
// GROUPS: warp.group @convert warps 2
// GROUPS-NOT: tile.dot
// GROUPS: warp.group @math warps 4
// GROUPS-NOT: tile.transpose
// GROUPS: tile.dot.async

// LAYOUTS: tile.read %{{.*}} : <tensor<32x64xf8E4M3FN>> -> tensor<32x64xf8E4M3FN, #tile.transposing>
// LAYOUTS: tile.transpose %{{.*}} : tensor<32x64xf8E4M3FN, #tile.transposing> -> tensor<64x32xf8E4M3FN, #tile.transposed<#tile.transposing>>

// A and B transposed have two entries of 4 and 8 KiB, B as loaded has one of 8:
// two of each would be 40 KiB.
// DEPTH-DAG: warp.ring : <2, [tensor<64x64xf8E4M3FN>]>
// DEPTH-DAG: warp.ring : <2, [tensor<128x64xf8E4M3FN>]>
// DEPTH-DAG: warp.ring : <1, [tensor<64x128xf8E4M3FN>]>

!a = memref<?x?xf8E4M3FN, strided<[?, 1]>>
gpu.module @m {
  gpu.func @gemm(%a: !a, %b: !a, %c: memref<?x?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x128xf32>
    %sum = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x128xf32>) {
      %x = tile.load %a[%c0, %k] : !a -> tensor<64x64xf8E4M3FN>
      %y = tile.load %b[%k, %c0] : !a -> tensor<64x128xf8E4M3FN>
      %r = tile.dot %x, %y, %acc lhs mk rhs kn : tensor<64x64xf8E4M3FN>, tensor<64x128xf8E4M3FN> -> tensor<64x128xf32>
      scf.yield %r : tensor<64x128xf32>
    }
    tile.store %sum, %c[%c0, %c0] : tensor<64x128xf32>, memref<?x?xf32>
    gpu.return
  }
}
