// RUN: fa3-opt %s -tile-assign-layouts | FileCheck %s
// RUN: %stages-chain --pass tile-assign-layouts
// RUN: %stages-window --pass tile-assign-layouts

gpu.module @m {
  // The result of a product is an accumulator; what is computed from it, and
  // what it is computed with, follows, through loops, conversions and the left
  // operand of the next product.
  // CHECK-LABEL: gpu.func @chain
  // CHECK: arith.constant dense<0.000000e+00> : tensor<64x32xf32, #tile.acc>
  // CHECK: scf.for {{.*}} -> (tensor<64x16xf32, #tile.acc>)
  // CHECK: tile.dot.async {{.*}} -> <tensor<64x32xf32, #tile.acc>>
  // CHECK: tile.await {{.*}} : <tensor<64x32xf32, #tile.acc>>
  // CHECK: arith.truncf {{.*}} to tensor<64x32xf16, #tile.acc>
  // CHECK: tile.dot.async {{.*}} : tensor<64x32xf16, #tile.acc>, !tile.view<tensor<32x16xf16>>
  // CHECK: tile.store {{.*}} : tensor<64x16xf32, #tile.acc>
  gpu.func @chain(%k: !tile.view<tensor<32x16xf16>>, %x: !tile.view<tensor<64x16xf16>>, %n: index, %o: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %none = arith.constant dense<0.0> : tensor<64x16xf32>
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %none) -> tensor<64x16xf32> {
      %d, %done = tile.dot.async %x, %k, %zero lhs mk rhs nk : !tile.view<tensor<64x16xf16>>, !tile.view<tensor<32x16xf16>>, tensor<64x32xf32> -> !tile.pending<tensor<64x32xf32>>
      %e = tile.await %d : !tile.pending<tensor<64x32xf32>>
      %p = arith.truncf %e : tensor<64x32xf32> to tensor<64x32xf16>
      %f, %done2 = tile.dot.async %p, %k, %acc lhs mk rhs kn : tensor<64x32xf16>, !tile.view<tensor<32x16xf16>>, tensor<64x16xf32> -> !tile.pending<tensor<64x16xf32>>
      %g = tile.await %f : !tile.pending<tensor<64x16xf32>>
      scf.yield %g : tensor<64x16xf32>
    }
    tile.store %r, %o[%c0, %c0] : tensor<64x16xf32>, memref<?x?xf32>
    gpu.return
  }

  // Statistics of rows and of columns are slices, partial sums have the layout
  // of their tile.
  // CHECK-LABEL: gpu.func @statistics
  // CHECK: tile.reduce max {{.*}} : tensor<64x32xf32, #tile.acc> -> tensor<64xf32, #tile.slice<1, #tile.acc>>
  // CHECK: tile.broadcast {{.*}} dim 1 : tensor<64xf32, #tile.slice<1, #tile.acc>> -> tensor<64x32xf32, #tile.acc>
  // CHECK: tile.load {{.*}} -> tensor<32xf32, #tile.slice<0, #tile.acc>>
  // CHECK: tile.broadcast {{.*}} dim 0 : tensor<32xf32, #tile.slice<0, #tile.acc>> -> tensor<64x32xf32, #tile.acc>
  // CHECK: tile.reduce add {{.*}} modulo 8 : tensor<64x32xf32, #tile.acc> -> tensor<64x8xf32, #tile.acc>
  // CHECK: tile.store {{.*}} : tensor<64xf32, #tile.slice<1, #tile.acc>>
  gpu.func @statistics(%p: memref<?x?xf32>, %b: memref<?xf32>, %l: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %p[%c0, %c0] : memref<?x?xf32> -> tensor<64x32xf32>
    %m = tile.reduce max %x dim 1 : tensor<64x32xf32> -> tensor<64xf32>
    %wide = tile.broadcast %m dim 1 : tensor<64xf32> -> tensor<64x32xf32>
    %c = tile.load %b[%c0] : memref<?xf32> -> tensor<32xf32>
    %columns = tile.broadcast %c dim 0 : tensor<32xf32> -> tensor<64x32xf32>
    %d = arith.addf %wide, %columns : tensor<64x32xf32>
    %e = arith.addf %x, %d : tensor<64x32xf32>
    %some = tile.reduce add %e dim 1 modulo 8 : tensor<64x32xf32> -> tensor<64x8xf32>
    %sum = tile.reduce add %some dim 1 : tensor<64x8xf32> -> tensor<64xf32>
    tile.store %e, %p[%c0, %c0] : tensor<64x32xf32>, memref<?x?xf32>
    tile.store %sum, %l[%c0] : tensor<64xf32>, memref<?xf32>
    gpu.return
  }

  // What no product relates to: rank 2 like an accumulator, rank 1 like rows.
  // CHECK-LABEL: gpu.func @alone
  // CHECK: tile.load {{.*}} -> tensor<64xf32, #tile.slice<1, #tile.acc>>
  // CHECK: tile.coord dim 0 {{.*}} : tensor<64x16xindex, #tile.acc>
  gpu.func @alone(%b: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c = tile.load %b[%c0] : memref<?xf32> -> tensor<64xf32>
    %i = tile.coord dim 0 offset %c0 : tensor<64x16xindex>
    tile.store %c, %b[%c0] : tensor<64xf32>, memref<?xf32>
    gpu.return
  }

  // Both arms of a branch, a guarded value, and what an await keeps.
  // CHECK-LABEL: gpu.func @control
  // CHECK: scf.if %{{.*}} -> (tensor<64x16xf32, #tile.acc>)
  // CHECK: tile.where %{{.*}} else %{{.*}}, %{{.*}} : tensor<64xi1, #tile.slice<1, #tile.acc>>, tensor<64x16xf32, #tile.acc>, tensor<64xf32, #tile.slice<1, #tile.acc>>
  // CHECK: tile.await %{{.*}} keep %{{.*}} : tensor<64x8xf32, #tile.acc> : <tensor<64x16xf32, #tile.acc>>
  gpu.func @control(%k: !tile.view<tensor<16x16xf16>>, %p: memref<?x?xf16>, %go: i1, %o: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %p[%c0, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
    %kept = tile.load %o[%c0, %c0] : memref<?x?xf32> -> tensor<64x8xf32>
    %one = arith.constant dense<1.0> : tensor<64x16xf32>
    %zero = arith.constant dense<0.0> : tensor<64xf32>
    %x = scf.if %go -> tensor<64x16xf32> {
      %y = arith.negf %one : tensor<64x16xf32>
      scf.yield %y : tensor<64x16xf32>
    } else {
      scf.yield %one : tensor<64x16xf32>
    }
    %m = tile.reduce max %x dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    %large = arith.cmpf ogt, %m, %zero : tensor<64xf32>
    %w, %s = tile.where %large else %x, %m : tensor<64xi1>, tensor<64x16xf32>, tensor<64xf32> {
      %twice = arith.addf %x, %x : tensor<64x16xf32>
      tile.yield %twice, %zero : tensor<64x16xf32>, tensor<64xf32>
    }
    %d, %done = tile.dot.async %a, %k, %w lhs mk rhs nk : tensor<64x16xf16>, !tile.view<tensor<16x16xf16>>, tensor<64x16xf32> -> !tile.pending<tensor<64x16xf32>>
    %e, %f = tile.await %d keep %kept : tensor<64x8xf32> : !tile.pending<tensor<64x16xf32>>
    tile.store %e, %o[%c0, %c0] : tensor<64x16xf32>, memref<?x?xf32>
    tile.store %f, %o[%c0, %c0] : tensor<64x8xf32>, memref<?x?xf32>
    tile.store %s, %o[%c0, %c0] : tensor<64xf32>, memref<?x?xf32>
    gpu.return
  }
}
