// Turns among the replicas of one group.
// RUN: split-file %s %t
// RUN: fa3-opt %t/turns.mlir -flow-check -o /dev/null
// RUN: not fa3-opt %t/fewer.mlir -flow-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=FEWER
// RUN: not fa3-opt %t/held.mlir -flow-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=HELD
// RUN: not fa3-opt %t/nested.mlir -flow-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=NESTED
// RUN: not fa3-opt %t/data.mlir -flow-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=DATA

// A replica that skips steps skips its turns.
// FEWER: fewer.mlir:4:{{.*}} error: is not balanced: replicas of 'math' may differ in how often one takes turns, and it is not as often as any access that joins them to another group
// FEWER: fewer.mlir:29:{{.*}} note: this depends on the replica

// Who has the turn waits for an entry that the others hand back in theirs.
// HELD: error: 'flow.acquire' op waits forever: no group can go on
// HELD: note: @load waits here for @math replica 1 to release entry 0 of the ring
// HELD: note: @math replica 0 waits here for @load to publish entry 1 of the ring
// HELD: note: @math replica 1 waits here for its turn, which @math replica 0 has taken and not passed

// Two turns at once.
// NESTED: error: 'flow.take' op waits forever: no group can go on
// NESTED: note: @math replica 0 waits here for its turn, which @math replica 1 has not taken yet
// NESTED: note: @math replica 1 waits here for its turn, which @math replica 0 has taken and not passed

// Data decide about a turn.
// DATA: error: 'scf.if' op has a condition that is not the same in every group, yet encloses accesses that join them
//--- turns.mlir
!ring = !flow.ring<1, [tensor<64x8xf32>]>
!slot = !flow.slot<read, [tensor<64x8xf32>]>
gpu.module @kernels {
  // Nothing but turns, in a loop and in a branch that all take alike.
  gpu.func @uniform(%n: index, %some: i1) kernel {
    %order = flow.order
    flow.specialize {
      flow.group @math warps 4 replicas 3 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        scf.for %i = %c0 to %n step %c1 {
          %turn = flow.take %order
          flow.pass %turn
          scf.if %some {
            %again = flow.take %order
            flow.pass %again
          }
        }
      }
    }
    gpu.return
  }
  // Replicas skip different numbers of steps, and take their turns all the same:
  // as often as they acquire an entry. Tile after tile.
  gpu.func @skips(%n: index, %tiles: index) kernel {
    %ring = flow.ring : !ring
    %order = flow.order
    flow.specialize {
      flow.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = flow.cursor write %ring : !ring
        %end = scf.for %t = %c0 to %tiles step %c1 iter_args(%o = %w) -> (!flow.cursor<write>) {
          %next = scf.for %i = %c0 to %n step %c1 iter_args(%c = %o) -> (!flow.cursor<write>) {
            %s, %c2 = flow.acquire %ring[%c] : !ring, !flow.cursor<write>
            flow.publish %s : !flow.slot<write, [tensor<64x8xf32>]>
            scf.yield %c2 : !flow.cursor<write>
          }
          scf.yield %next : !flow.cursor<write>
        }
      }
      flow.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %r = flow.cursor read %ring : !ring
        %end = scf.for %t = %c0 to %tiles step %c1 iter_args(%o = %r) -> (!flow.cursor<read>) {
          %most = arith.maxsi %n, %c0 : index
          %first = arith.minsi %g, %most : index
          %live = scf.for %i = %c0 to %first step %c1 iter_args(%c = %o) -> (!flow.cursor<read>) {
            %s, %c2 = flow.acquire %ring[%c] : !ring, !flow.cursor<read>
            %turn = flow.take %order
            flow.pass %turn
            flow.release %s : !slot
            scf.yield %c2 : !flow.cursor<read>
          }
          %next = scf.for %i = %first to %n step %c1 iter_args(%c = %live) -> (!flow.cursor<read>) {
            %s, %c2 = flow.acquire %ring[%c] : !ring, !flow.cursor<read>
            %turn = flow.take %order
            flow.pass %turn
            flow.release %s : !slot
            scf.yield %c2 : !flow.cursor<read>
          }
          scf.yield %next : !flow.cursor<read>
        }
      }
    }
    gpu.return
  }
}
//--- fewer.mlir
!ring = !flow.ring<1, [tensor<64x8xf32>]>
gpu.module @kernels {
  gpu.func @fewer(%n: index) kernel {
    %order = flow.order
    %ring = flow.ring : !ring
    flow.specialize {
      flow.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = flow.cursor write %ring : !ring
        %next = scf.for %i = %c0 to %n step %c1 iter_args(%c = %w) -> (!flow.cursor<write>) {
          %s, %c2 = flow.acquire %ring[%c] : !ring, !flow.cursor<write>
          flow.publish %s : !flow.slot<write, [tensor<64x8xf32>]>
          scf.yield %c2 : !flow.cursor<write>
        }
      }
      flow.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %r = flow.cursor read %ring : !ring
        %most = arith.maxsi %n, %c0 : index
        %first = arith.minsi %g, %most : index
        // Skipped without a turn.
        %live = scf.for %i = %c0 to %first step %c1 iter_args(%c = %r) -> (!flow.cursor<read>) {
          %s, %c2 = flow.acquire %ring[%c] : !ring, !flow.cursor<read>
          flow.release %s : !flow.slot<read, [tensor<64x8xf32>]>
          scf.yield %c2 : !flow.cursor<read>
        }
        %next = scf.for %i = %first to %n step %c1 iter_args(%c = %live) -> (!flow.cursor<read>) {
          %s, %c2 = flow.acquire %ring[%c] : !ring, !flow.cursor<read>
          %turn = flow.take %order
          flow.pass %turn
          flow.release %s : !flow.slot<read, [tensor<64x8xf32>]>
          scf.yield %c2 : !flow.cursor<read>
        }
      }
    }
    gpu.return
  }
}
//--- held.mlir
!ring = !flow.ring<1, [tensor<64x8xf32>]>
!slot = !flow.slot<read, [tensor<64x8xf32>]>
gpu.module @kernels {
  gpu.func @held(%n: index) kernel {
    %order = flow.order
    %ring = flow.ring : !ring
    flow.specialize {
      flow.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = flow.cursor write %ring : !ring
        %s0, %w1 = flow.acquire %ring[%w] : !ring, !flow.cursor<write>
        flow.publish %s0 : !flow.slot<write, [tensor<64x8xf32>]>
        %next = scf.for %i = %c0 to %n step %c1 iter_args(%c = %w1) -> (!flow.cursor<write>) {
          %s, %c2 = flow.acquire %ring[%c] : !ring, !flow.cursor<write>
          flow.publish %s : !flow.slot<write, [tensor<64x8xf32>]>
          scf.yield %c2 : !flow.cursor<write>
        }
      }
      flow.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %r = flow.cursor read %ring : !ring
        %s0, %r1 = flow.acquire %ring[%r] : !ring, !flow.cursor<read>
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %s0, %c = %r1) -> (!slot, !flow.cursor<read>) {
          %turn = flow.take %order
          flow.release %s : !slot
          %s1, %c2 = flow.acquire %ring[%c] : !ring, !flow.cursor<read>
          flow.pass %turn
          scf.yield %s1, %c2 : !slot, !flow.cursor<read>
        }
        flow.release %end#0 : !slot
      }
    }
    gpu.return
  }
}
//--- nested.mlir
gpu.module @kernels {
  gpu.func @nested() kernel {
    %order = flow.order
    flow.specialize {
      flow.group @math warps 4 replicas 2 (%g) {
        %a = flow.take %order
        %b = flow.take %order
        flow.pass %b
        flow.pass %a
      }
    }
    gpu.return
  }
}
//--- data.mlir
gpu.module @kernels {
  gpu.func @data(%x: memref<?xf32>) kernel {
    %order = flow.order
    flow.specialize {
      flow.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %tile = tile.load %x[%c0] : memref<?xf32> -> tensor<8xf32>
        %zero = arith.constant dense<0.0> : tensor<8xf32>
        %some = arith.cmpf ogt, %tile, %zero : tensor<8xf32>
        %if = tile.any_possible %some : tensor<8xi1>
        scf.if %if {
          %turn = flow.take %order
          flow.pass %turn
        }
      }
    }
    gpu.return
  }
}
