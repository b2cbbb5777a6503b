// Turns among the replicas of one group.
// RUN: split-file %s %t
// RUN: fa3-opt %t/turns.mlir -warp-check -o /dev/null
// RUN: not fa3-opt %t/fewer.mlir -warp-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=FEWER
// RUN: not fa3-opt %t/held.mlir -warp-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=HELD
// RUN: not fa3-opt %t/nested.mlir -warp-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=NESTED
// RUN: not fa3-opt %t/data.mlir -warp-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=DATA

// A replica that skips steps skips its turns.
// FEWER: fewer.mlir:4:{{.*}} error: is not balanced: replicas of 'math' may differ in how often one takes turns, and it is not as often as any access that joins them to another group
// FEWER: fewer.mlir:29:{{.*}} note: this depends on the replica

// Who has the turn waits for an entry that the others hand back in theirs.
// HELD: error: 'warp.acquire' op waits forever: no group can go on
// HELD: note: @load waits here for @math replica 1 to release entry 0 of the ring
// HELD: note: @math replica 0 waits here for @load to publish entry 1 of the ring
// HELD: note: @math replica 1 waits here for its turn, which @math replica 0 has taken and not passed

// Two turns at once.
// NESTED: error: 'warp.take_turn' op waits forever: no group can go on
// NESTED: note: @math replica 0 waits here for its turn, which @math replica 1 has not taken yet
// NESTED: note: @math replica 1 waits here for its turn, which @math replica 0 has taken and not passed

// Data decide about a turn.
// DATA: error: 'scf.if' op has a condition that is not the same in every group, yet encloses accesses that join them
//--- turns.mlir
!ring = !warp.ring<1, [tensor<64x8xf32>]>
!slot = !warp.slot<read, [tensor<64x8xf32>]>
gpu.module @kernels {
  // Nothing but turns, in a loop and in a branch that all take alike.
  gpu.func @uniform(%n: index, %some: i1) kernel {
    %order = warp.ordered_barrier
    warp.specialize {
      warp.group @math warps 4 replicas 3 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        scf.for %i = %c0 to %n step %c1 {
          %turn = warp.take_turn %order
          warp.pass_turn %turn
          scf.if %some {
            %again = warp.take_turn %order
            warp.pass_turn %again
          }
        }
      }
    }
    gpu.return
  }
  // Replicas skip different numbers of steps, and take their turns all the same:
  // as often as they acquire an entry. Tile after tile.
  gpu.func @skips(%n: index, %tiles: index) kernel {
    %ring = warp.ring : !ring
    %order = warp.ordered_barrier
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = warp.cursor write %ring : !ring
        %end = scf.for %t = %c0 to %tiles step %c1 iter_args(%o = %w) -> (!warp.cursor<write>) {
          %next = scf.for %i = %c0 to %n step %c1 iter_args(%c = %o) -> (!warp.cursor<write>) {
            %s, %c2 = warp.acquire %ring[%c] : !ring, !warp.cursor<write>
            warp.publish %s : !warp.slot<write, [tensor<64x8xf32>]>
            scf.yield %c2 : !warp.cursor<write>
          }
          scf.yield %next : !warp.cursor<write>
        }
      }
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %r = warp.cursor read %ring : !ring
        %end = scf.for %t = %c0 to %tiles step %c1 iter_args(%o = %r) -> (!warp.cursor<read>) {
          %most = arith.maxsi %n, %c0 : index
          %first = arith.minsi %g, %most : index
          %live = scf.for %i = %c0 to %first step %c1 iter_args(%c = %o) -> (!warp.cursor<read>) {
            %s, %c2 = warp.acquire %ring[%c] : !ring, !warp.cursor<read>
            %turn = warp.take_turn %order
            warp.pass_turn %turn
            warp.release %s : !slot
            scf.yield %c2 : !warp.cursor<read>
          }
          %next = scf.for %i = %first to %n step %c1 iter_args(%c = %live) -> (!warp.cursor<read>) {
            %s, %c2 = warp.acquire %ring[%c] : !ring, !warp.cursor<read>
            %turn = warp.take_turn %order
            warp.pass_turn %turn
            warp.release %s : !slot
            scf.yield %c2 : !warp.cursor<read>
          }
          scf.yield %next : !warp.cursor<read>
        }
      }
    }
    gpu.return
  }
}
//--- fewer.mlir
!ring = !warp.ring<1, [tensor<64x8xf32>]>
gpu.module @kernels {
  gpu.func @fewer(%n: index) kernel {
    %order = warp.ordered_barrier
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = warp.cursor write %ring : !ring
        %next = scf.for %i = %c0 to %n step %c1 iter_args(%c = %w) -> (!warp.cursor<write>) {
          %s, %c2 = warp.acquire %ring[%c] : !ring, !warp.cursor<write>
          warp.publish %s : !warp.slot<write, [tensor<64x8xf32>]>
          scf.yield %c2 : !warp.cursor<write>
        }
      }
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %r = warp.cursor read %ring : !ring
        %most = arith.maxsi %n, %c0 : index
        %first = arith.minsi %g, %most : index
        // Skipped without a turn.
        %live = scf.for %i = %c0 to %first step %c1 iter_args(%c = %r) -> (!warp.cursor<read>) {
          %s, %c2 = warp.acquire %ring[%c] : !ring, !warp.cursor<read>
          warp.release %s : !warp.slot<read, [tensor<64x8xf32>]>
          scf.yield %c2 : !warp.cursor<read>
        }
        %next = scf.for %i = %first to %n step %c1 iter_args(%c = %live) -> (!warp.cursor<read>) {
          %s, %c2 = warp.acquire %ring[%c] : !ring, !warp.cursor<read>
          %turn = warp.take_turn %order
          warp.pass_turn %turn
          warp.release %s : !warp.slot<read, [tensor<64x8xf32>]>
          scf.yield %c2 : !warp.cursor<read>
        }
      }
    }
    gpu.return
  }
}
//--- held.mlir
!ring = !warp.ring<1, [tensor<64x8xf32>]>
!slot = !warp.slot<read, [tensor<64x8xf32>]>
gpu.module @kernels {
  gpu.func @held(%n: index) kernel {
    %order = warp.ordered_barrier
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = warp.cursor write %ring : !ring
        %s0, %w1 = warp.acquire %ring[%w] : !ring, !warp.cursor<write>
        warp.publish %s0 : !warp.slot<write, [tensor<64x8xf32>]>
        %next = scf.for %i = %c0 to %n step %c1 iter_args(%c = %w1) -> (!warp.cursor<write>) {
          %s, %c2 = warp.acquire %ring[%c] : !ring, !warp.cursor<write>
          warp.publish %s : !warp.slot<write, [tensor<64x8xf32>]>
          scf.yield %c2 : !warp.cursor<write>
        }
      }
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %r = warp.cursor read %ring : !ring
        %s0, %r1 = warp.acquire %ring[%r] : !ring, !warp.cursor<read>
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %s0, %c = %r1) -> (!slot, !warp.cursor<read>) {
          %turn = warp.take_turn %order
          warp.release %s : !slot
          %s1, %c2 = warp.acquire %ring[%c] : !ring, !warp.cursor<read>
          warp.pass_turn %turn
          scf.yield %s1, %c2 : !slot, !warp.cursor<read>
        }
        warp.release %end#0 : !slot
      }
    }
    gpu.return
  }
}
//--- nested.mlir
gpu.module @kernels {
  gpu.func @nested() kernel {
    %order = warp.ordered_barrier
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %a = warp.take_turn %order
        %b = warp.take_turn %order
        warp.pass_turn %b
        warp.pass_turn %a
      }
    }
    gpu.return
  }
}
//--- data.mlir
gpu.module @kernels {
  gpu.func @data(%x: memref<?xf32>) kernel {
    %order = warp.ordered_barrier
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %tile = tile.load %x[%c0] : memref<?xf32> -> tensor<8xf32>
        %zero = arith.constant dense<0.0> : tensor<8xf32>
        %some = arith.cmpf ogt, %tile, %zero : tensor<8xf32>
        %if = tile.any_possible %some : tensor<8xi1>
        scf.if %if {
          %turn = warp.take_turn %order
          warp.pass_turn %turn
        }
      }
    }
    gpu.return
  }
}
