// RUN: fa3-opt %s -tile-specialize | FileCheck %s
// RUN: fa3-opt %s -tile-specialize=replicas=4 | FileCheck %s --check-prefix=FOUR
// RUN: fa3-opt %s -tile-specialize=warp-specialize=false | FileCheck %s --check-prefix=ONE
// RUN: %stages-window --pass tile-specialize
// RUN: %stages-chain --pass tile-specialize

!a = memref<?x?xf16, strided<[?, 1]>>
!A = tensor<128x32xf16>
!B = tensor<64x32xf16>
gpu.module @m {
  // The loads and what their addresses need go to one group, the rest to a
  // group with one replica per 64 rows; operations of both are in both.
  // CHECK-LABEL: gpu.func @gemm
  // CHECK: %[[RA:.*]] = warp.ring : <1, [tensor<128x32xf16>]>
  // CHECK: %[[RB:.*]] = warp.ring : <1, [tensor<64x32xf16>]>
  // CHECK: warp.specialize {
  // CHECK: warp.group @load warps 1 (%{{.*}}) {
  // CHECK-NOT: warp.cursor read
  // CHECK: scf.for %{{.*}} iter_args(%{{.*}}, %{{.*}}) -> (!warp.cursor<write>, !warp.cursor<write>) {
  // CHECK: tile.load.async %arg0
  // CHECK: tile.load.async %arg1
  // CHECK-NOT: tile.dot
  // CHECK: warp.group @math warps 4 replicas 2 (%[[G:.*]]) {
  // CHECK-NOT: warp.cursor write
  // CHECK: scf.for {{.*}} -> (tensor<64x64xf32>, !warp.cursor<read>, !warp.cursor<read>)
  // CHECK-NOT: tile.load.async
  // CHECK: %[[C64:.*]] = arith.constant 64 : index
  // CHECK: %[[ROW:.*]] = arith.muli %[[G]], %[[C64]]
  // CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %[[ROW]]
  // CHECK: %[[X:.*]] = tile.view %{{.*}}[%[[FIRST]], %{{.*}}] : <read, [tensor<128x32xf16>]> -> <tensor<64x32xf16>>
  // CHECK: %[[Y:.*]] = tile.view {{.*}} -> <tensor<64x32xf16>>
  // CHECK: tile.dot %[[X]], %[[Y]]
  // CHECK: tile.store %{{.*}} : tensor<64x64xf16>
  // CHECK-NOT: tile.role

  // One replica makes the copies of all, in front of their use.
  // ONE-LABEL: gpu.func @gemm
  // ONE-NOT: warp.group @load
  // ONE: warp.group @math warps 4 replicas 2 (%[[G:.*]]) {
  // ONE-DAG: warp.cursor write %{{.*}} leader : <1, [tensor<128x32xf16>]>
  // ONE-DAG: warp.cursor write %{{.*}} leader : <1, [tensor<64x32xf16>]>
  // ONE: scf.for
  // ONE: %[[SLOT:.*]], %{{.*}} = warp.acquire {{.*}}, <write>
  // ONE: tile.view %[[SLOT]][%{{.*}}, %{{.*}}] : {{.*}} -> <tensor<128x32xf16>>
  // ONE: tile.load.async %arg0
  // ONE: tile.dot

  // FOUR-LABEL: gpu.func @gemm
  // FOUR: warp.group @math warps 4 replicas 4
  // FOUR: tile.view {{.*}} -> <tensor<32x32xf16>>
  gpu.func @gemm(%a: !a, %b: !a, %c: !a, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %ra = warp.ring : !warp.ring<1, [!A]>
    %rb = warp.ring : !warp.ring<1, [!B]>
    %wa = warp.cursor write %ra {tile.role = "load"} : !warp.ring<1, [!A]>
    %wb = warp.cursor write %rb {tile.role = "load"} : !warp.ring<1, [!B]>
    %qa = warp.cursor read %ra {tile.role = "math"} : !warp.ring<1, [!A]>
    %qb = warp.cursor read %rb {tile.role = "math"} : !warp.ring<1, [!B]>
    %r:5 = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %zero, %cwa = %wa, %cwb = %wb, %cqa = %qa, %cqb = %qb)
        -> (tensor<128x64xf32>, !warp.cursor<write>, !warp.cursor<write>, !warp.cursor<read>, !warp.cursor<read>) {
      %k = arith.muli %t, %c32 : index
      %sa, %nwa = warp.acquire %ra[%cwa] {tile.role = "load"} : !warp.ring<1, [!A]>, !warp.cursor<write>
      %va = tile.view %sa[%c0, %c0] {tile.role = "load"} : !warp.slot<write, [!A]> -> !tile.view<!A>
      tile.load.async %a[%c0, %k], %va {tile.role = "load"} : !a, !tile.view<!A>
      warp.publish %sa {tile.role = "load"} : !warp.slot<write, [!A]>
      %sb, %nwb = warp.acquire %rb[%cwb] {tile.role = "load"} : !warp.ring<1, [!B]>, !warp.cursor<write>
      %vb = tile.view %sb[%c0, %c0] {tile.role = "load"} : !warp.slot<write, [!B]> -> !tile.view<!B>
      tile.load.async %b[%c0, %k], %vb {tile.role = "load"} : !a, !tile.view<!B>
      warp.publish %sb {tile.role = "load"} : !warp.slot<write, [!B]>
      %ha, %nqa = warp.acquire %ra[%cqa] {tile.role = "math"} : !warp.ring<1, [!A]>, !warp.cursor<read>
      %x = tile.view %ha[%c0, %c0] {tile.role = "math"} : !warp.slot<read, [!A]> -> !tile.view<!A>
      %hb, %nqb = warp.acquire %rb[%cqb] {tile.role = "math"} : !warp.ring<1, [!B]>, !warp.cursor<read>
      %y = tile.view %hb[%c0, %c0] {tile.role = "math"} : !warp.slot<read, [!B]> -> !tile.view<!B>
      %s = tile.dot %x, %y, %acc lhs mk rhs nk : !tile.view<!A>, !tile.view<!B> -> tensor<128x64xf32>
      warp.release %hb {tile.role = "math"} : !warp.slot<read, [!B]>
      warp.release %ha {tile.role = "math"} : !warp.slot<read, [!A]>
      scf.yield %s, %nwa, %nwb, %nqa, %nqb : tensor<128x64xf32>, !warp.cursor<write>, !warp.cursor<write>, !warp.cursor<read>, !warp.cursor<read>
    }
    %out = arith.truncf %r#0 : tensor<128x64xf32> to tensor<128x64xf16>
    tile.store %out, %c[%c0, %c0] : tensor<128x64xf16>, !a
    gpu.return
  }

  // Rows are divided through a chain: statistics of rows and masks on rows are
  // divided, statistics of columns are not.
  // CHECK-LABEL: gpu.func @rows
  // CHECK: warp.group @math warps 4 replicas 2 (%[[G:.*]]) {
  // CHECK: %[[I0:.*]] = arith.addi %arg1, %{{.*}}
  // CHECK: tile.coord dim 0 offset %[[I0]] : tensor<64x32xindex>
  // CHECK: tile.coord dim 1 offset %{{.*}} : tensor<64x32xindex>
  // CHECK: arith.select {{.*}} : tensor<64x32xi1>, tensor<64x32xf32>
  // CHECK: tile.reduce {{.*}} : tensor<64x32xf32> -> tensor<64xf32>
  // CHECK: tile.broadcast {{.*}} dim 1 : tensor<64xf32> -> tensor<64x32xf32>
  // CHECK: tile.broadcast {{.*}} dim 0 : tensor<32xf32> -> tensor<64x32xf32>
  // CHECK: tile.store {{.*}} : tensor<64x32xf32>
  // CHECK: tile.store {{.*}} : tensor<64xf32>
  gpu.func @rows(%p: memref<?x?xf16>, %i0: index, %bias: memref<?xf32>, %c: memref<?x?xf32>, %l: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<128x32xf32>
    %none = arith.constant dense<-1.0> : tensor<128x32xf32>
    %x = tile.load %p[%c0, %c0] : memref<?x?xf16> -> tensor<128x16xf16>
    %y = tile.load %p[%c0, %c0] : memref<?x?xf16> -> tensor<32x16xf16>
    %s = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<128x16xf16>, tensor<32x16xf16> -> tensor<128x32xf32>
    %i = tile.coord dim 0 offset %i0 : tensor<128x32xindex>
    %j = tile.coord dim 1 offset %c0 : tensor<128x32xindex>
    %keep = arith.cmpi sle, %j, %i : tensor<128x32xindex>
    %masked = arith.select %keep, %s, %none : tensor<128x32xi1>, tensor<128x32xf32>
    %m = tile.reduce max %masked dim 1 : tensor<128x32xf32> -> tensor<128xf32>
    %wide = tile.broadcast %m dim 1 : tensor<128xf32> -> tensor<128x32xf32>
    %d = arith.subf %masked, %wide : tensor<128x32xf32>
    %b = tile.load %bias[%c0] : memref<?xf32> -> tensor<32xf32>
    %columns = tile.broadcast %b dim 0 : tensor<32xf32> -> tensor<128x32xf32>
    %sum = arith.addf %d, %columns : tensor<128x32xf32>
    tile.store %sum, %c[%i0, %c0] : tensor<128x32xf32>, memref<?x?xf32>
    tile.store %m, %l[%i0] : tensor<128xf32>, memref<?xf32>
    gpu.return
  }

  // 64 rows need no division, and without a load role there is one group.
  // CHECK-LABEL: gpu.func @one_replica
  // CHECK: warp.specialize {
  // CHECK-NEXT: warp.group @math warps 4 (%{{.*}}) {
  // CHECK-NOT: warp.group
  // CHECK: tile.dot {{.*}} -> tensor<64x64xf32>
  gpu.func @one_replica(%p: memref<?x?xf16>, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %x = tile.load %p[%c0, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
    %y = tile.load %p[%c0, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
    %s = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<64x16xf16>, tensor<64x16xf16> -> tensor<64x64xf32>
    tile.store %s, %c[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }

  // Rows of two dimensions of the array: 64 of them are 16 of the outer one.
  // CHECK-LABEL: gpu.func @fold
  // CHECK: warp.group @math warps 4 replicas 2 (%[[G:.*]]) {
  // CHECK: %[[C16:.*]] = arith.constant 16 : index
  // CHECK: %[[ROW:.*]] = arith.muli %[[G]], %[[C16]]
  // CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %[[ROW]]
  // CHECK: tile.store %{{.*}}, %arg2[%[[FIRST]], %{{.*}}, %{{.*}}] fold 4 : tensor<64x64xf32>
  gpu.func @fold(%a: !a, %b: !a, %c: memref<?x4x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %x = tile.load %a[%c0, %c0] : !a -> !A
    %y = tile.load %b[%c0, %c0] : !a -> !B
    %s = tile.dot %x, %y, %zero lhs mk rhs nk : !A, !B -> tensor<128x64xf32>
    tile.store %s, %c[%c0, %c0, %c0] fold 4 : tensor<128x64xf32>, memref<?x4x?xf32>
    gpu.return
  }
}
