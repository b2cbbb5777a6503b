// Stores whose rows end: a replica without rows stores outside of the array;
// where the end may divide the rows of a replica, the store keeps it.
// RUN: fa3-opt %s -tile-specialize | FileCheck %s

!A = tensor<128x32xf16>
!B = tensor<64x32xf16>
gpu.module @m {
  // CHECK-LABEL: gpu.func @some
  // CHECK: warp.group @math warps 4 replicas 2 (%[[G:.*]]) {
  // CHECK: %[[ROWS:.*]] = arith.select
  // CHECK: %[[END:.*]] = arith.addi %{{.*}}, %[[ROWS]]
  // CHECK: tile.dot
  // CHECK: %[[PART:.*]] = arith.muli %[[G]], %c64{{.*}} : index
  // CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %[[PART]]
  // CHECK: %[[OUTSIDE:.*]] = memref.dim %arg2
  // CHECK: %[[LIVE:.*]] = arith.cmpi slt, %[[FIRST]], %[[END]] : index
  // CHECK: %[[ROW:.*]] = arith.select %[[LIVE]], %[[FIRST]], %[[OUTSIDE]]
  // CHECK: tile.store %{{.*}}, %arg2[%[[ROW]], %{{.*}}] : tensor<64x64xf32>
  gpu.func @some(%a: memref<?x32xf16>, %b: memref<?x32xf16>, %c: memref<?x64xf32>, %m: index, %few: i1) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %first = arith.muli %m, %c128 : index
    %rows = arith.select %few, %c64, %c128 : index
    %end = arith.addi %first, %rows : index
    %x = tile.load %a[%first, %c0] : memref<?x32xf16> -> !A
    %y = tile.load %b[%c0, %c0] : memref<?x32xf16> -> !B
    %r = tile.dot %x, %y, %zero lhs mk rhs nk : !A, !B -> tensor<128x64xf32>
    tile.store %r, %c[%first, %c0] below %end : tensor<128x64xf32>, memref<?x64xf32>
    gpu.return
  }

  // All replicas have all of their rows.
  // CHECK-LABEL: gpu.func @all
  // CHECK-NOT: arith.select
  // CHECK: tile.store %{{.*}}] : tensor<64x64xf32>
  gpu.func @all(%a: memref<?x32xf16>, %b: memref<?x32xf16>, %c: memref<?x64xf32>, %m: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %first = arith.muli %m, %c128 : index
    %next = arith.addi %m, %c1 : index
    %end = arith.muli %next, %c128 : index
    %x = tile.load %a[%first, %c0] : memref<?x32xf16> -> !A
    %y = tile.load %b[%c0, %c0] : memref<?x32xf16> -> !B
    %r = tile.dot %x, %y, %zero lhs mk rhs nk : !A, !B -> tensor<128x64xf32>
    tile.store %r, %c[%first, %c0] below %end : tensor<128x64xf32>, memref<?x64xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @anywhere
  // CHECK: tile.store %{{.*}}, %arg2[%{{.*}}, %{{.*}}] below %arg3 : tensor<64x64xf32>
  gpu.func @anywhere(%a: memref<?x32xf16>, %b: memref<?x32xf16>, %c: memref<?x64xf32>, %end: index) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %x = tile.load %a[%c0, %c0] : memref<?x32xf16> -> !A
    %y = tile.load %b[%c0, %c0] : memref<?x32xf16> -> !B
    %r = tile.dot %x, %y, %zero lhs mk rhs nk : !A, !B -> tensor<128x64xf32>
    tile.store %r, %c[%c0, %c0] below %end : tensor<128x64xf32>, memref<?x64xf32>
    gpu.return
  }

  // With a fold the end counts indices of the outer dimension, 16 a replica.
  // CHECK-LABEL: gpu.func @folded
  // CHECK: %[[LIVE:.*]] = arith.cmpi slt, %[[FIRST:.*]], %[[END:.*]] : index
  // CHECK: %[[ROW:.*]] = arith.select %[[LIVE]], %[[FIRST]], %{{.*}} : index
  // CHECK: tile.store %{{.*}}, %arg2[%[[ROW]], %{{.*}}, %{{.*}}] fold 4 : tensor<64x64xf32>
  // CHECK: tile.store %{{.*}}, %arg2[%{{.*}}, %{{.*}}, %{{.*}}] below %{{.*}} fold 4 : tensor<64x64xf32>
  gpu.func @folded(%a: memref<?x32xf16>, %b: memref<?x32xf16>, %c: memref<?x4x64xf32>, %m: index, %end: index) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %x = tile.load %a[%c0, %c0] : memref<?x32xf16> -> !A
    %y = tile.load %b[%c0, %c0] : memref<?x32xf16> -> !B
    %r = tile.dot %x, %y, %zero lhs mk rhs nk : !A, !B -> tensor<128x64xf32>
    %whole = arith.muli %m, %c16 : index
    tile.store %r, %c[%c0, %c0, %c0] below %whole fold 4 : tensor<128x64xf32>, memref<?x4x64xf32>
    tile.store %r, %c[%c0, %c0, %c0] below %end fold 4 : tensor<128x64xf32>, memref<?x4x64xf32>
    gpu.return
  }
}
