// RUN: fa3-opt %s -tile-resolve-guards | FileCheck %s
// RUN: %stages-window --pass tile-resolve-guards
// RUN: %stages-window --pass tile-resolve-guards --run=--completion=random --run=--schedule-seed=5

!K = tensor<32x16xf16>
!s = tensor<64x32xindex>
!p = tensor<64x32xi1>
gpu.module @m {
  // The replicas' rows differ: those at the end of the range see nothing. There
  // the entry is given back right after it was acquired, so that the writer of
  // two rings is not blocked by a reader of one.
  // CHECK-LABEL: gpu.func @diagonal
  // CHECK: %[[R:.*]] = warp.ring
  // CHECK: %[[R2:.*]] = warp.ring
  // CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %arg0
  // CHECK: %[[LIVE:.*]]:3 = scf.for %{{.*}} = %c0{{.*}} to %[[END]] step
  // CHECK: tile.dot
  // CHECK-NOT: scf.if
  // CHECK: scf.for %{{.*}} = %[[END]] to %arg0 step %{{.*}} iter_args(%{{.*}} = %[[LIVE]]#0, %{{.*}} = %[[LIVE]]#1, %{{.*}} = %[[LIVE]]#2)
  // CHECK: %[[S:.*]], %{{.*}} = warp.acquire %[[R]]
  // CHECK-NEXT: warp.release %[[S]]
  // CHECK: %[[S2:.*]], %{{.*}} = warp.acquire %[[R2]]
  // CHECK-NEXT: warp.release %[[S2]]
  // CHECK-NOT: tile.dot
  // CHECK: tile.store
  gpu.func @diagonal(%n: index, %i0: index, %q: memref<?x?xf16>, %k: memref<?x?xf16>, %c: memref<?x?xf32>) kernel {
    %r = warp.ring : !warp.ring<1, [!K]>
    %r2 = warp.ring : !warp.ring<1, [!K]>
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = warp.cursor write %r : !warp.ring<1, [!K]>
        %w2 = warp.cursor write %r2 : !warp.ring<1, [!K]>
        scf.for %t = %c0 to %n step %c1 iter_args(%cw = %w, %cw2 = %w2) -> (!warp.cursor<write>, !warp.cursor<write>) {
          %s, %nw = warp.acquire %r[%cw] : !warp.ring<1, [!K]>, !warp.cursor<write>
          %v = tile.view %s[%c0, %c0] : !warp.slot<write, [!K]> -> !tile.view<!K>
          tile.load.async %k[%t, %c0], %v : memref<?x?xf16>, !tile.view<!K>
          warp.publish %s : !warp.slot<write, [!K]>
          %s2, %nw2 = warp.acquire %r2[%cw2] : !warp.ring<1, [!K]>, !warp.cursor<write>
          %v2 = tile.view %s2[%c0, %c0] : !warp.slot<write, [!K]> -> !tile.view<!K>
          tile.load.async %k[%t, %c0], %v2 : memref<?x?xf16>, !tile.view<!K>
          warp.publish %s2 : !warp.slot<write, [!K]>
          scf.yield %nw, %nw2 : !warp.cursor<write>, !warp.cursor<write>
        }
      }
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c32 = arith.constant 32 : index
        %c64 = arith.constant 64 : index
        %zero = arith.constant dense<0.0> : tensor<64x32xf32>
        %row = arith.muli %g, %c64 : index
        %i1 = arith.addi %i0, %row : index
        %i = tile.coord dim 0 offset %i1 : !s
        %x = tile.load %q[%i1, %c0] : memref<?x?xf16> -> tensor<64x16xf16>
        %q0 = warp.cursor read %r : !warp.ring<1, [!K]>
        %q2 = warp.cursor read %r2 : !warp.ring<1, [!K]>
        %o:3 = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %zero, %cq = %q0, %cq2 = %q2) -> (tensor<64x32xf32>, !warp.cursor<read>, !warp.cursor<read>) {
          %j0 = arith.muli %t, %c32 : index
          %j = tile.coord dim 1 offset %j0 : !s
          %keep = arith.cmpi sle, %j, %i : !s
          %live = tile.any_possible %keep : !p
          %h, %nq = warp.acquire %r[%cq] : !warp.ring<1, [!K]>, !warp.cursor<read>
          %y = tile.view %h[%c0, %c0] : !warp.slot<read, [!K]> -> !tile.view<!K>
          %h2, %nq2 = warp.acquire %r2[%cq2] : !warp.ring<1, [!K]>, !warp.cursor<read>
          %y2 = tile.view %h2[%c0, %c0] : !warp.slot<read, [!K]> -> !tile.view<!K>
          %next = scf.if %live -> tensor<64x32xf32> {
            %d = tile.dot %x, %y, %acc lhs mk rhs nk : tensor<64x16xf16>, !tile.view<!K> -> tensor<64x32xf32>
            %d2 = tile.dot %x, %y2, %d lhs mk rhs nk : tensor<64x16xf16>, !tile.view<!K> -> tensor<64x32xf32>
            scf.yield %d2 : tensor<64x32xf32>
          } else {
            scf.yield %acc : tensor<64x32xf32>
          }
          warp.release %h : !warp.slot<read, [!K]>
          warp.release %h2 : !warp.slot<read, [!K]>
          scf.yield %next, %nq, %nq2 : tensor<64x32xf32>, !warp.cursor<read>, !warp.cursor<read>
        }
        tile.store %o#0, %c[%i1, %c0] : tensor<64x32xf32>, memref<?x?xf32>
      }
    }
    gpu.return
  }

  // A loop that begins where something may be seen, as tile-shrink-bounds leaves
  // it, has nothing in front; one that begins elsewhere has.
  // CHECK-LABEL: gpu.func @begun
  // CHECK: %[[BEGIN:.*]] = arith.minsi
  // CHECK: warp.group
  // CHECK-NOT: scf.for
  // CHECK: scf.for %{{.*}} = %[[BEGIN]] to %arg0
  // CHECK: arith.addf
  // CHECK: %[[OTHER:.*]] = arith.minsi
  // CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[OTHER]]
  // CHECK-NOT: arith.addf
  // CHECK: scf.for %{{.*}} = %[[OTHER]] to %arg0
  // CHECK: arith.addf
  gpu.func @begun(%n: index, %first: index, %c: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c-31 = arith.constant -31 : index
    %c32 = arith.constant 32 : index
    %shifted = arith.addi %first, %c-31 : index
    %quotient = arith.ceildivsi %shifted, %c32 : index
    %least = arith.maxsi %quotient, %c0 : index
    %begin = arith.minsi %least, %n : index
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %zero = arith.constant 0.0 : f32
        %one = arith.constant 1.0 : f32
        %width = arith.constant 32 : index
        %same = tile.coord dim 0 offset %first : tensor<1x32xindex>
        %behind = arith.addi %first, %c2 : index
        %other = tile.coord dim 0 offset %behind : tensor<1x32xindex>
        %o = scf.for %t = %begin to %n step %c1 iter_args(%s = %zero) -> f32 {
          %j0 = arith.muli %t, %width : index
          %j = tile.coord dim 1 offset %j0 : tensor<1x32xindex>
          %keep = arith.cmpi sge, %j, %same : tensor<1x32xindex>
          %live = tile.any_possible %keep : tensor<1x32xi1>
          %next = scf.if %live -> f32 {
            %x = arith.addf %s, %one : f32
            scf.yield %x : f32
          } else {
            scf.yield %s : f32
          }
          scf.yield %next : f32
        }
        %p = scf.for %t = %begin to %n step %c1 iter_args(%s = %o) -> f32 {
          %j0 = arith.muli %t, %width : index
          %j = tile.coord dim 1 offset %j0 : tensor<1x32xindex>
          %keep = arith.cmpi sge, %j, %other : tensor<1x32xindex>
          %live = tile.any_possible %keep : tensor<1x32xi1>
          %next = scf.if %live -> f32 {
            %x = arith.addf %s, %one : f32
            scf.yield %x : f32
          } else {
            scf.yield %s : f32
          }
          scf.yield %next : f32
        }
        memref.store %p, %c[%first] : memref<?xf32>
      }
    }
    gpu.return
  }

  // The same in all steps: a branch, and the loop in it keeps its range.
  // CHECK-LABEL: gpu.func @ended
  // CHECK: %[[DISTANCE:.*]] = arith.addi %{{.*}}, %c-1
  // CHECK: %[[LIVE:.*]] = arith.cmpi sge, %[[DISTANCE]], %c0
  // CHECK: scf.if %[[LIVE]] -> (f32) {
  // CHECK: scf.for %{{.*}} = %c0{{.*}} to %arg0 step
  // CHECK: arith.addf
  // CHECK: } else {
  // CHECK: scf.for %{{.*}} = %c0{{.*}} to %arg0 step
  // CHECK-NOT: arith.addf
  // CHECK: memref.store
  gpu.func @ended(%n: index, %first: index, %end: index, %c: memref<?xf32>) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant 0.0 : f32
        %one = arith.constant 1.0 : f32
        %ends = tensor.splat %end : !s
        %o = scf.for %t = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
          %i = tile.coord dim 0 offset %first : !s
          %inside = arith.cmpi slt, %i, %ends : !s
          %live = tile.any_possible %inside : !p
          %next = scf.if %live -> f32 {
            %x = arith.addf %s, %one : f32
            scf.yield %x : f32
          } else {
            scf.yield %s : f32
          }
          scf.yield %next : f32
        }
        memref.store %o, %c[%c0] : memref<?xf32>
      }
    }
    gpu.return
  }

  // A mask that the analysis cannot read, and one that every step may meet: the
  // guard is taken as true.
  // CHECK-LABEL: gpu.func @unknown
  // CHECK: scf.for %{{.*}} = %c0{{.*}} to %arg0 step
  // CHECK-NOT: scf.if
  // CHECK: arith.addf
  // CHECK-NOT: scf.for
  // CHECK: memref.store
  gpu.func @unknown(%n: index, %mask: memref<?x?xi1>, %c: memref<?xf32>) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant 0.0 : f32
        %o = scf.for %t = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
          %keep = tile.load %mask[%c0, %t] : memref<?x?xi1> -> !p
          %live = tile.any_possible %keep : !p
          %next = scf.if %live -> f32 {
            %x = arith.addf %s, %s : f32
            scf.yield %x : f32
          } else {
            scf.yield %s : f32
          }
          scf.yield %next : f32
        }
        memref.store %o, %c[%c0] : memref<?xf32>
      }
    }
    gpu.return
  }

  // Without the guard the iteration would do something: the range stays, and the
  // guard is taken as true.
  // CHECK-LABEL: gpu.func @no_identity
  // CHECK: scf.for %{{.*}} = %c0{{.*}} to %arg0 step
  // CHECK-NOT: tile.any_possible
  // CHECK: scf.if %true
  gpu.func @no_identity(%n: index, %i0: index, %c: memref<?xf32>) kernel {
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant 0.0 : f32
        %i = tile.coord dim 0 offset %i0 : !s
        %o = scf.for %t = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
          %j = tile.coord dim 1 offset %t : !s
          %keep = arith.cmpi sle, %j, %i : !s
          %live = tile.any_possible %keep : !p
          %next = scf.if %live -> f32 {
            %x = arith.addf %s, %s : f32
            scf.yield %x : f32
          } else {
            scf.yield %zero : f32
          }
          scf.yield %next : f32
        }
        memref.store %o, %c[%c0] : memref<?xf32>
      }
    }
    gpu.return
  }
}
