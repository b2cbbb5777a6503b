// RUN: fa3-opt %s -tile-assign-roles | FileCheck %s
// RUN: fa3-opt %s -tile-assign-roles -tile-insert-rings -tile-exchange-operands | FileCheck %s --check-prefix=RINGS

!a = memref<?x?xbf16, strided<[?, 1]>>
gpu.module @m {
  // Two sums of 256 columns: the second gets a group, with what follows from it.
  // A condition for both sums is asked by each group.
  // CHECK-LABEL: gpu.func @two
  // CHECK: tile.where %{{.*}} else %{{.*}} : tensor<64xi1>, tensor<64x256xf32> {
  // CHECK: tile.where %{{.*}} else %{{.*}} : tensor<64xi1>, tensor<64x256xf32> {
  // CHECK: tile.dot {{.*}} lhs mk rhs kn : {{.*}}
  // CHECK: tile.dot {{.*}} lhs mk rhs kn {tile.role = "math1"}
  // CHECK: tile.store %{{.*}} {tile.role = "math"}
  // CHECK: tile.store %{{.*}} {tile.role = "math1"}

  // Both groups read the left operand of a product that has been loaded, by
  // cursors of their own.
  // RINGS-LABEL: gpu.func @two
  // RINGS: %[[V:.*]] = warp.ring : <1, [tensor<64xf32>]>
  // RINGS: %[[X:.*]] = warp.ring : <1, [tensor<64x64xbf16>]>
  // RINGS-DAG: warp.cursor read %[[X]] {tile.role = "math"}
  // RINGS-DAG: warp.cursor read %[[X]] {tile.role = "math1"}
  // RINGS: tile.write %{{.*}}, %{{.*}} : tensor<64xf32>
  // RINGS: tile.read %{{.*}} {tile.role = "math1"} : <tensor<64xf32>>
  gpu.func @two(%a: !a, %b: !a, %s: memref<?x?xf32>, %c: memref<?x?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<64x256xf32>
    %one = arith.constant dense<1.0> : tensor<64xf32>
    %r:2 = scf.for %k = %c0 to %n step %c64 iter_args(%p = %zero, %q = %zero) -> (tensor<64x256xf32>, tensor<64x256xf32>) {
      %x = tile.load %a[%c0, %k] : !a -> tensor<64x64xbf16>
      %y = tile.load %b[%k, %c0] : !a -> tensor<64x256xbf16>
      %z = tile.load %b[%k, %c256] : !a -> tensor<64x256xbf16>
      %w = tile.load %s[%c0, %k] : memref<?x?xf32> -> tensor<64x8xf32>
      %m = tile.reduce max %w dim 1 : tensor<64x8xf32> -> tensor<64xf32>
      %large = arith.cmpf ogt, %m, %one : tensor<64xf32>
      %f:2 = tile.where %large else %p, %q : tensor<64xi1>, tensor<64x256xf32>, tensor<64x256xf32> {
        %by = tile.broadcast %m dim 1 : tensor<64xf32> -> tensor<64x256xf32>
        %g = arith.mulf %p, %by : tensor<64x256xf32>
        %h = arith.mulf %q, %by : tensor<64x256xf32>
        tile.yield %g, %h : tensor<64x256xf32>, tensor<64x256xf32>
      }
      %d = tile.dot %x, %y, %f#0 lhs mk rhs kn : tensor<64x64xbf16>, tensor<64x256xbf16> -> tensor<64x256xf32>
      %e = tile.dot %x, %z, %f#1 lhs mk rhs kn : tensor<64x64xbf16>, tensor<64x256xbf16> -> tensor<64x256xf32>
      scf.yield %d, %e : tensor<64x256xf32>, tensor<64x256xf32>
    }
    tile.store %r#0, %c[%c0, %c0] : tensor<64x256xf32>, memref<?x?xf32>
    tile.store %r#1, %c[%c0, %c256] : tensor<64x256xf32>, memref<?x?xf32>
    gpu.return
  }

  // One group has a sum of 320 columns, but beside tables read at computed places.
  // CHECK-LABEL: gpu.func @wide
  // CHECK-NOT: math1
  // CHECK-LABEL: gpu.func @wide_by_table
  // CHECK: tile.dot {{.*}} lhs mk rhs kn : {{.*}} -> tensor<64x256xf32>
  // CHECK: tile.dot {{.*}} lhs mk rhs kn {tile.role = "math1"} : {{.*}} -> tensor<64x64xf32>
  gpu.func @wide(%a: !a, %b: !a, %c: memref<?x?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %left = arith.constant dense<0.0> : tensor<64x256xf32>
    %right = arith.constant dense<0.0> : tensor<64x64xf32>
    %r:2 = scf.for %k = %c0 to %n step %c64 iter_args(%p = %left, %q = %right) -> (tensor<64x256xf32>, tensor<64x64xf32>) {
      %x = tile.load %a[%c0, %k] : !a -> tensor<64x64xbf16>
      %y = tile.load %b[%k, %c0] : !a -> tensor<64x256xbf16>
      %z = tile.load %b[%k, %c256] : !a -> tensor<64x64xbf16>
      %d = tile.dot %x, %y, %p lhs mk rhs kn : tensor<64x64xbf16>, tensor<64x256xbf16> -> tensor<64x256xf32>
      %e = tile.dot %x, %z, %q lhs mk rhs kn : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %d, %e : tensor<64x256xf32>, tensor<64x64xf32>
    }
    tile.store %r#0, %c[%c0, %c0] : tensor<64x256xf32>, memref<?x?xf32>
    tile.store %r#1, %c[%c0, %c256] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }
  gpu.func @wide_by_table(%a: !a, %b: !a, %c: memref<?x?xf32>, %t: memref<?x?xi32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %left = arith.constant dense<0.0> : tensor<64x256xf32>
    %right = arith.constant dense<0.0> : tensor<64x64xf32>
    %r:2 = scf.for %k = %c0 to %n step %c64 iter_args(%p = %left, %q = %right) -> (tensor<64x256xf32>, tensor<64x64xf32>) {
      %x = tile.load %a[%c0, %k] : !a -> tensor<64x64xbf16>
      %y = tile.load %b[%k, %c0] : !a -> tensor<64x256xbf16>
      %z = tile.load %b[%k, %c256] : !a -> tensor<64x64xbf16>
      %i = tile.load %t[%c0, %k] : memref<?x?xi32> -> tensor<64x64xi32>
      %f = arith.sitofp %i : tensor<64x64xi32> to tensor<64x64xbf16>
      %w = arith.mulf %x, %f : tensor<64x64xbf16>
      %d = tile.dot %w, %y, %p lhs mk rhs kn : tensor<64x64xbf16>, tensor<64x256xbf16> -> tensor<64x256xf32>
      %e = tile.dot %w, %z, %q lhs mk rhs kn : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %d, %e : tensor<64x256xf32>, tensor<64x64xf32>
    }
    tile.store %r#0, %c[%c0, %c0] : tensor<64x256xf32>, memref<?x?xf32>
    tile.store %r#1, %c[%c0, %c256] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }

  // What is stored is made of both: one group has to have them.
  // CHECK-LABEL: gpu.func @together
  // CHECK-NOT: math1
  gpu.func @together(%a: !a, %b: !a, %c: memref<?x?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<64x256xf32>
    %r:2 = scf.for %k = %c0 to %n step %c64 iter_args(%p = %zero, %q = %zero) -> (tensor<64x256xf32>, tensor<64x256xf32>) {
      %x = tile.load %a[%c0, %k] : !a -> tensor<64x64xbf16>
      %y = tile.load %b[%k, %c0] : !a -> tensor<64x256xbf16>
      %z = tile.load %b[%k, %c256] : !a -> tensor<64x256xbf16>
      %d = tile.dot %x, %y, %p lhs mk rhs kn : tensor<64x64xbf16>, tensor<64x256xbf16> -> tensor<64x256xf32>
      %e = tile.dot %x, %z, %q lhs mk rhs kn : tensor<64x64xbf16>, tensor<64x256xbf16> -> tensor<64x256xf32>
      scf.yield %d, %e : tensor<64x256xf32>, tensor<64x256xf32>
    }
    %sum = arith.addf %r#0, %r#1 : tensor<64x256xf32>
    tile.store %sum, %c[%c0, %c0] : tensor<64x256xf32>, memref<?x?xf32>
    gpu.return
  }

  // One group has registers for two sums of 64 columns.
  // CHECK-LABEL: gpu.func @narrow
  // CHECK-NOT: math1
  gpu.func @narrow(%a: !a, %b: !a, %c: memref<?x?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %r:2 = scf.for %k = %c0 to %n step %c64 iter_args(%p = %zero, %q = %zero) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
      %x = tile.load %a[%c0, %k] : !a -> tensor<64x64xbf16>
      %y = tile.load %b[%k, %c0] : !a -> tensor<64x64xbf16>
      %z = tile.load %b[%k, %c64] : !a -> tensor<64x64xbf16>
      %d = tile.dot %x, %y, %p lhs mk rhs kn : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      %e = tile.dot %x, %z, %q lhs mk rhs kn : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %d, %e : tensor<64x64xf32>, tensor<64x64xf32>
    }
    tile.store %r#0, %c[%c0, %c0] : tensor<64x64xf32>, memref<?x?xf32>
    tile.store %r#1, %c[%c0, %c64] : tensor<64x64xf32>, memref<?x?xf32>
    gpu.return
  }
}
