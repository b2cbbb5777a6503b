// RUN: fa3-opt %s -tile-split-by-predicate | FileCheck %s
// RUN: fa3-opt %s -tile-split-by-predicate=edges=together | FileCheck %s --check-prefix=TOGETHER
// RUN: fa3-opt %s -tile-split-by-predicate=edges=none | FileCheck %s --check-prefix=NONE
// RUN: %stages-window --pass tile-split-by-predicate

!s = tensor<64x32xindex>
!p = tensor<64x32xi1>
!x = tensor<64x32xf32>
gpu.module @m {
  // Below the diagonal all elements hold, on it some do: two loops, the first
  // without select and mask. What is carried flows through both.
  // CHECK-LABEL: gpu.func @diagonal
  // CHECK: %[[MID:.*]] = arith.minsi %{{.*}}, %arg0
  // CHECK: %[[A:.*]] = scf.for %{{.*}} = %c0{{.*}} to %[[MID]] step
  // CHECK-NOT: arith.cmpi
  // CHECK-NOT: arith.select
  // CHECK: arith.addf
  // CHECK: scf.yield
  // CHECK: %[[B:.*]] = scf.for %{{.*}} = %[[MID]] to %arg0 step %{{.*}} iter_args(%{{.*}} = %[[A]])
  // CHECK: arith.cmpi
  // CHECK: arith.select
  // CHECK: scf.yield
  // CHECK: tile.store %[[B]]
  gpu.func @diagonal(%n: index, %i0: index, %p: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : !x
    %i = tile.coord dim 0 offset %i0 : !s
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%sum = %zero) -> !x {
      %j0 = arith.muli %t, %c32 : index
      %x = tile.load %p[%c0, %j0] : memref<?x?xf32> -> !x
      %j = tile.coord dim 1 offset %j0 : !s
      %keep = arith.cmpi sle, %j, %i : !s
      %masked = arith.select %keep, %x, %zero : !p, !x
      %next = arith.addf %sum, %masked : !x
      scf.yield %next : !x
    }
    tile.store %r, %p[%c0, %c0] : !x, memref<?x?xf32>
    gpu.return
  }

  // Of scalar comparisons the range of the mask decides one: each loop makes one
  // of the two choices. The other changes within a loop.
  // CHECK-LABEL: gpu.func @scalars
  // CHECK: %[[A:.*]] = scf.for
  // CHECK: arith.cmpi slt, %{{.*}}, %arg2 : index
  // CHECK: %[[FRONT:.*]] = arith.select %false{{.*}}, %{{.*}}, %{{.*}} : index
  // CHECK: tile.load %{{.*}}[%{{.*}}, %[[FRONT]]]
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[A]])
  // CHECK: arith.cmpi slt, %{{.*}}, %arg2 : index
  // CHECK: %[[INSIDE:.*]] = arith.select %true{{.*}}, %{{.*}}, %{{.*}} : index
  // CHECK: tile.load %{{.*}}[%{{.*}}, %[[INSIDE]]]
  // CHECK-NOT: arith.select {{.*}} : tensor
  // CHECK: gpu.return
  gpu.func @scalars(%n: index, %first: index, %other: index, %p: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : !x
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%sum = %zero) -> !x {
      %visible = arith.cmpi sge, %t, %first : index
      %below = arith.cmpi slt, %t, %other : index
      %near = arith.select %below, %t, %c0 : index
      %far = arith.muli %t, %c32 : index
      %j0 = arith.select %visible, %far, %near : index
      %x = tile.load %p[%c0, %j0] : memref<?x?xf32> -> !x
      %all = tensor.splat %visible : !p
      %seen = arith.cmpf olt, %x, %zero : !x
      %keep = arith.ori %all, %seen : !p
      %masked = arith.select %keep, %x, %zero : !p, !x
      %next = arith.addf %sum, %masked : !x
      scf.yield %next : !x
    }
    tile.store %r, %p[%c0, %c0] : !x, memref<?x?xf32>
    gpu.return
  }

  // Certain from the start to the end: no second loop.
  // CHECK-LABEL: gpu.func @always
  // CHECK: scf.for
  // CHECK-NOT: arith.select
  // CHECK-NOT: scf.for
  // CHECK: gpu.return
  // NONE-LABEL: gpu.func @always
  // NONE-NOT: arith.select
  // NONE-LABEL: gpu.func @window
  // NONE-COUNT-1: scf.for
  // NONE: arith.select
  // NONE-NOT: scf.for
  // NONE: gpu.return
  gpu.func @always(%n: index, %p: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : !x
    %least = arith.constant dense<0> : !s
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%sum = %zero) -> !x {
      %j0 = arith.muli %t, %c32 : index
      %x = tile.load %p[%c0, %j0] : memref<?x?xf32> -> !x
      %j = tile.coord dim 1 offset %j0 : !s
      %keep = arith.cmpi sge, %j, %least : !s
      %masked = arith.select %keep, %x, %zero : !p, !x
      %next = arith.addf %sum, %masked : !x
      scf.yield %next : !x
    }
    tile.store %r, %p[%c0, %c0] : !x, memref<?x?xf32>
    gpu.return
  }

  // A window holds in the middle: three loops. Together, one loop is what is in
  // front of that and behind it, in two rounds: in the second one the middle is
  // empty.
  // CHECK-LABEL: gpu.func @window
  // CHECK: scf.for %{{.*}} = %c0{{.*}} to %[[FROM:[^ ]*]] step
  // CHECK: arith.select
  // CHECK: scf.for %{{.*}} = %[[FROM]] to %[[TO:[^ ]*]] step
  // CHECK-NOT: arith.select
  // CHECK: scf.for %{{.*}} = %[[TO]] to %arg0 step
  // CHECK: arith.select
  // CHECK-NOT: scf.for
  // CHECK: gpu.return
  // TOGETHER-LABEL: gpu.func @window
  // TOGETHER: %[[SUM:.*]] = scf.for %[[ROUND:.*]] = %c0{{.*}} to %c2{{.*}} step %c1{{[^ ]*}} iter_args(%[[IN:.*]] = %{{.*}})
  // TOGETHER: %[[FIRST:.*]] = arith.cmpi eq, %[[ROUND]], %c0
  // TOGETHER: %[[LOWER:.*]] = arith.select %[[FIRST]], %c0{{.*}}, %[[TO:.*]] : index
  // TOGETHER: %[[UPPER:.*]] = arith.select %[[FIRST]], %[[FROM:.*]], %arg0 : index
  // TOGETHER: %[[EDGE:.*]] = scf.for %{{.*}} = %[[LOWER]] to %[[UPPER]] step %{{.*}} iter_args(%{{.*}} = %[[IN]])
  // TOGETHER: arith.select {{.*}} : tensor<64x32xi1>
  // TOGETHER: %[[LAST:.*]] = arith.select %[[FIRST]], %[[TO]], %[[FROM]] : index
  // TOGETHER: %[[MIDDLE:.*]] = scf.for %{{.*}} = %[[FROM]] to %[[LAST]] step %{{.*}} iter_args(%{{.*}} = %[[EDGE]])
  // TOGETHER-NOT: arith.select
  // TOGETHER: scf.yield %[[MIDDLE]]
  // TOGETHER-NOT: scf.for
  // TOGETHER: tile.store %[[SUM]]
  gpu.func @window(%n: index, %i0: index, %p: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : !x
    %left = arith.constant dense<400> : !s
    %i = tile.coord dim 0 offset %i0 : !s
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%sum = %zero) -> !x {
      %j0 = arith.muli %t, %c32 : index
      %x = tile.load %p[%c0, %j0] : memref<?x?xf32> -> !x
      %j = tile.coord dim 1 offset %j0 : !s
      %below = arith.cmpi sle, %j, %i : !s
      %far = arith.addi %j, %left : !s
      %near = arith.cmpi sge, %far, %i : !s
      %keep = arith.andi %below, %near : !p
      %masked = arith.select %keep, %x, %zero : !p, !x
      %next = arith.addf %sum, %masked : !x
      scf.yield %next : !x
    }
    tile.store %r, %p[%c0, %c0] : !x, memref<?x?xf32>
    gpu.return
  }

  // A window that is narrower than a tile holds for all elements nowhere: 64
  // rows and 32 columns need 95 keys.
  // CHECK-LABEL: gpu.func @narrow
  // CHECK: scf.for
  // CHECK: arith.select
  // CHECK-NOT: scf.for
  // CHECK-LABEL: gpu.func @just
  // CHECK-COUNT-3: scf.for
  gpu.func @narrow(%n: index, %i0: index, %p: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : !x
    %left = arith.constant dense<93> : !s
    %i = tile.coord dim 0 offset %i0 : !s
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%sum = %zero) -> !x {
      %j0 = arith.muli %t, %c32 : index
      %x = tile.load %p[%c0, %j0] : memref<?x?xf32> -> !x
      %j = tile.coord dim 1 offset %j0 : !s
      %below = arith.cmpi sle, %j, %i : !s
      %far = arith.addi %j, %left : !s
      %near = arith.cmpi sge, %far, %i : !s
      %keep = arith.andi %below, %near : !p
      %masked = arith.select %keep, %x, %zero : !p, !x
      %next = arith.addf %sum, %masked : !x
      scf.yield %next : !x
    }
    tile.store %r, %p[%c0, %c0] : !x, memref<?x?xf32>
    gpu.return
  }
  gpu.func @just(%n: index, %i0: index, %p: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : !x
    %left = arith.constant dense<94> : !s
    %i = tile.coord dim 0 offset %i0 : !s
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%sum = %zero) -> !x {
      %j0 = arith.muli %t, %c32 : index
      %x = tile.load %p[%c0, %j0] : memref<?x?xf32> -> !x
      %j = tile.coord dim 1 offset %j0 : !s
      %below = arith.cmpi sle, %j, %i : !s
      %far = arith.addi %j, %left : !s
      %near = arith.cmpi sge, %far, %i : !s
      %keep = arith.andi %below, %near : !p
      %masked = arith.select %keep, %x, %zero : !p, !x
      %next = arith.addf %sum, %masked : !x
      scf.yield %next : !x
    }
    tile.store %r, %p[%c0, %c0] : !x, memref<?x?xf32>
    gpu.return
  }

  // Nothing is certain of a mask that is loaded, of one that compares with an
  // element that the iteration loads, nor of a loop whose step is not 1.
  // CHECK-LABEL: gpu.func @never
  // CHECK-COUNT-3: scf.for
  // CHECK-NOT: scf.for
  // CHECK: gpu.return
  gpu.func @never(%n: index, %i0: index, %p: memref<?x?xf32>, %m: memref<?x?xi1>, %l: memref<?xindex>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : !x
    %i = tile.coord dim 0 offset %i0 : !s
    %x = tile.load %p[%c0, %c0] : memref<?x?xf32> -> !x
    scf.for %t = %c0 to %n step %c1 {
      %last = tile.scalar_load %l[%t] : memref<?xindex>
      %end = tensor.splat %last : !s
      %j = tile.coord dim 1 offset %t : !s
      %keep = arith.cmpi sle, %j, %end : !s
      %masked = arith.select %keep, %x, %zero : !p, !x
      tile.store %masked, %p[%c0, %t] : !x, memref<?x?xf32>
    }
    scf.for %t = %c0 to %n step %c1 {
      %keep = tile.load %m[%c0, %t] : memref<?x?xi1> -> !p
      %masked = arith.select %keep, %x, %zero : !p, !x
      tile.store %masked, %p[%c0, %t] : !x, memref<?x?xf32>
    }
    scf.for %t = %c0 to %n step %c32 {
      %j = tile.coord dim 1 offset %t : !s
      %keep = arith.cmpi sle, %j, %i : !s
      %masked = arith.select %keep, %x, %zero : !p, !x
      tile.store %masked, %p[%c0, %t] : !x, memref<?x?xf32>
    }
    gpu.return
  }
}
