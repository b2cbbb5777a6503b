// Stores whose rows end: a replica without rows stores outside of the array.
// RUN: fa3-opt %s -tile-specialize -split-input-file -verify-diagnostics | FileCheck %s

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
}

// -----

!A = tensor<128x32xf16>
!B = tensor<64x32xf16>
gpu.module @m {
  gpu.func @anywhere(%a: memref<?x32xf16>, %b: memref<?x32xf16>, %c: memref<?x64xf32>, %end: index) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %x = tile.load %a[%c0, %c0] : memref<?x32xf16> -> !A
    %y = tile.load %b[%c0, %c0] : memref<?x32xf16> -> !B
    %r = tile.dot %x, %y, %zero lhs mk rhs nk : !A, !B -> tensor<128x64xf32>
    // expected-error @below {{'tile.store' op ends the rows where it may divide those of a replica: expects a multiple of 64 rows from the first to the end}}
    tile.store %r, %c[%c0, %c0] below %end : tensor<128x64xf32>, memref<?x64xf32>
    gpu.return
  }
}
