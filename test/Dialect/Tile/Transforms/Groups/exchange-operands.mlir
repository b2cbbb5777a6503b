// RUN: fa3-opt %s -tile-assign-roles -tile-insert-rings -tile-exchange-operands | FileCheck %s
// RUN: fa3-opt %s -tile-assign-roles -tile-insert-rings -tile-exchange-operands -tile-specialize | FileCheck %s --check-prefix=GROUPS

!a = memref<?x?xf16, strided<[?, 1]>>
gpu.module @m {
  // What products read with its columns as rows goes through a ring; as it is,
  // it stays in registers.
  // CHECK-LABEL: gpu.func @transposed
  // CHECK: %[[RING:.*]] = warp.ring : <1, [tensor<128x64xf16>]>
  // CHECK: %[[P:.*]] = arith.truncf
  // CHECK: %[[SLOT:.*]], %{{.*}} = warp.acquire %[[RING]][%{{.*}}] : <1, [tensor<128x64xf16>]>, <write>
  // CHECK: %[[TO:.*]] = tile.view %[[SLOT]]
  // CHECK: tile.write %[[P]], %[[TO]]
  // CHECK: warp.publish %[[SLOT]]
  // CHECK: tile.dot %[[P]], %{{.*}} lhs mk rhs kn
  // CHECK: %[[HELD:.*]], %{{.*}} = warp.acquire %[[RING]][%{{.*}}] : <1, [tensor<128x64xf16>]>, <read>
  // CHECK: %[[FROM:.*]] = tile.view %[[HELD]]
  // CHECK: tile.dot %[[FROM]], %{{.*}} lhs km rhs kn
  // CHECK: warp.release %[[HELD]]

  // Each replica writes its rows, and reads all of them for its columns of the
  // product of 64 rows.
  // GROUPS-LABEL: gpu.func @transposed
  // GROUPS: %[[RING:.*]] = warp.ring : <1, [tensor<128x64xf16>], parts = 2>
  // GROUPS: warp.group @math warps 4 replicas 2 (%[[G:.*]]) {
  // GROUPS: warp.cursor write %[[RING]] each
  // GROUPS: tile.view %{{.*}} -> <tensor<64x64xf16>>
  // GROUPS: tile.write %{{.*}} : tensor<64x64xf16>
  // GROUPS: tile.dot %{{.*}} lhs mk rhs kn : tensor<64x64xf16>, !tile.view<tensor<64x128xf16>> -> tensor<64x128xf32>
  // GROUPS: tile.dot %{{.*}} lhs km rhs kn : !tile.view<tensor<128x64xf16>>, !tile.view<tensor<128x64xf16>> -> tensor<64x64xf32>
  gpu.func @transposed(%a: !a, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %wide = arith.constant dense<0.0> : tensor<128x128xf32>
    %low = arith.constant dense<0.0> : tensor<64x128xf32>
    %x = tile.load %a[%c0, %c0] : !a -> tensor<128x128xf16>
    %y = tile.load %a[%c0, %c0] : !a -> tensor<64x128xf16>
    %s = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<128x128xf16>, tensor<64x128xf16> -> tensor<128x64xf32>
    %p = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xf16>
    %r = tile.dot %p, %y, %wide lhs mk rhs kn : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    %t = tile.dot %p, %x, %low lhs km rhs kn : tensor<128x64xf16>, tensor<128x128xf16> -> tensor<64x128xf32>
    tile.store %r, %c[%c0, %c0] : tensor<128x128xf32>, memref<?x?xf32>
    tile.store %t, %c[%c0, %c0] add : tensor<64x128xf32>, memref<?x?xf32>
    gpu.return
  }
}
