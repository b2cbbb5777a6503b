// RUN: fa3-opt %s -tile-assign-roles -tile-insert-rings -tile-exchange-operands -tile-post-numbers | FileCheck %s
// RUN: fa3-opt %s -tile-assign-roles -tile-insert-rings -tile-exchange-operands -tile-post-numbers -canonicalize -cse -tile-specialize | FileCheck %s --check-prefix=GROUPS
// Values of whole gradients: test/Pipelines/backward-lists.mlir.

!a = memref<?x64xf16>
!n = memref<?xi32>
!s = memref<?x64xf32>
gpu.module @m {
  // Who copies the tile says where it is from; the sum is added there.
  // CHECK-LABEL: gpu.func @listed
  // CHECK: scf.for
  // CHECK: %[[ROW:.*]] = arith.muli
  // CHECK: %[[FILLED:.*]], %{{.*}} = warp.acquire %{{.*}} {tile.role = "load"} : <1, [tensor<64x64xf16>, tensor<1xi32>]>, <write>
  // CHECK: %[[TO:.*]] = tile.view %[[FILLED]][%{{.*}}] field 1 {tile.role = "load"}
  // CHECK: tile.post %[[ROW]], %[[TO]] {tile.role = "load"} : <tensor<1xi32>>
  // CHECK: tile.load.async %{{.*}}[%[[ROW]], %{{.*}}]
  // CHECK: %[[HELD:.*]], %{{.*}} = warp.acquire %{{.*}} {tile.role = "math"} : <1, [tensor<64x64xf16>, tensor<1xi32>]>, <read>
  // CHECK: %[[FROM:.*]] = tile.view %[[HELD]][%{{.*}}] field 1 {tile.role = "math"}
  // CHECK: %[[PLACE:.*]] = tile.receive %[[FROM]] {tile.role = "math"} : <tensor<1xi32>>
  // CHECK: tile.store %{{.*}}, %{{.*}}[%[[PLACE]], %{{.*}}] add
  // GROUPS-LABEL: gpu.func @listed
  // GROUPS: warp.group @load
  // GROUPS: tile.scalar_load
  // GROUPS: tile.post
  // GROUPS: warp.group @math
  // GROUPS-NOT: tile.scalar_load
  // GROUPS: tile.receive
  // GROUPS: gpu.return
  gpu.func @listed(%q: !a, %k: !a, %list: !n, %sums: !s, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %x = tile.load %k[%c0, %c0] : !a -> tensor<64x64xf16>
    scf.for %t = %c0 to %n step %c1 {
      %e = tile.scalar_load %list[%t] : !n
      %i = arith.index_cast %e : i32 to index
      %r = arith.muli %i, %c64 : index
      %y = tile.load %q[%r, %c0] : !a -> tensor<64x64xf16>
      %s = tile.dot %y, %x, %zero lhs mk rhs nk : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
      tile.store %s, %sums[%r, %c0] add : tensor<64x64xf32>, !s
    }
    gpu.return
  }

  // A place that is computed costs less than an entry's field.
  // CHECK-LABEL: gpu.func @counted
  // CHECK-NOT: tile.post
  // CHECK: gpu.return
  gpu.func @counted(%q: !a, %k: !a, %sums: !s, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %x = tile.load %k[%c0, %c0] : !a -> tensor<64x64xf16>
    scf.for %t = %c0 to %n step %c1 {
      %r = arith.muli %t, %c64 : index
      %y = tile.load %q[%r, %c0] : !a -> tensor<64x64xf16>
      %s = tile.dot %y, %x, %zero lhs mk rhs nk : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
      tile.store %s, %sums[%r, %c0] add : tensor<64x64xf32>, !s
    }
    gpu.return
  }

  // Nobody copies from where the list says.
  // CHECK-LABEL: gpu.func @elsewhere
  // CHECK-NOT: tile.post
  // CHECK: gpu.return
  gpu.func @elsewhere(%q: !a, %k: !a, %list: !n, %sums: !s, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %x = tile.load %k[%c0, %c0] : !a -> tensor<64x64xf16>
    scf.for %t = %c0 to %n step %c1 {
      %e = tile.scalar_load %list[%t] : !n
      %i = arith.index_cast %e : i32 to index
      %r = arith.muli %i, %c64 : index
      %o = arith.muli %t, %c64 : index
      %y = tile.load %q[%o, %c0] : !a -> tensor<64x64xf16>
      %s = tile.dot %y, %x, %zero lhs mk rhs nk : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
      tile.store %s, %sums[%r, %c0] add : tensor<64x64xf32>, !s
    }
    gpu.return
  }

  // What is stored, and not added, may be read from the list: there are registers.
  // CHECK-LABEL: gpu.func @stored
  // CHECK-NOT: tile.post
  // CHECK: gpu.return
  gpu.func @stored(%q: !a, %k: !a, %list: !n, %sums: !s, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %x = tile.load %k[%c0, %c0] : !a -> tensor<64x64xf16>
    scf.for %t = %c0 to %n step %c1 {
      %e = tile.scalar_load %list[%t] : !n
      %i = arith.index_cast %e : i32 to index
      %r = arith.muli %i, %c64 : index
      %y = tile.load %q[%r, %c0] : !a -> tensor<64x64xf16>
      %s = tile.dot %y, %x, %zero lhs mk rhs nk : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
      tile.store %s, %sums[%r, %c0] : tensor<64x64xf32>, !s
    }
    gpu.return
  }
}
