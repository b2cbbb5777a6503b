// Turns: a cycle of rings of tokens, of which one has an initial entry.
// RUN: split-file %s %t
// RUN: fa3-opt %t/turns.mlir -flow-check -o /dev/null
// RUN: not fa3-opt %t/none.mlir -flow-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not fa3-opt %t/fewer.mlir -flow-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=FEWER
// RUN: not fa3-opt %t/data.mlir -flow-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=DATA

// Nobody has the first turn.
// NONE: error: 'flow.acquire' op waits forever: no group can go on
// NONE: note: @a waits here for @b to publish entry 0 of the ring
// NONE: note: @b waits here for @a to publish entry 0 of the ring

// One group takes a turn less.
// FEWER: error: is not balanced: 'a' acquires to read not as often as 'b' acquires to write

// Whether a turn is taken depends on data.
// DATA: error: 'scf.if' op has a condition that is not the same in every group, yet encloses accesses that join them
//--- turns.mlir
!first = !flow.ring<1, [!flow.token], initial = 1>
!second = !flow.ring<1, [!flow.token]>
gpu.module @kernels {
  gpu.func @turns(%n: index, %x: memref<?xf32>) kernel {
    %ofA = flow.ring : !first
    %ofB = flow.ring : !second
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %fewer = arith.subi %n, %c1 : index
    flow.specialize {
      flow.group @a warps 4 (%g) {
        %r = flow.cursor read %ofA : !first
        %w = flow.cursor write %ofB : !second
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %r, %p = %w) -> (!flow.cursor<read>, !flow.cursor<write>) {
          %turn, %t1 = flow.acquire %ofA[%t] : !first, !flow.cursor<read>
          flow.release %turn : !flow.slot<read, [!flow.token]>
          %next, %p1 = flow.acquire %ofB[%p] : !second, !flow.cursor<write>
          flow.publish %next : !flow.slot<write, [!flow.token]>
          scf.yield %t1, %p1 : !flow.cursor<read>, !flow.cursor<write>
        }
      }
      flow.group @b warps 4 (%g) {
        %r = flow.cursor read %ofB : !second
        %w = flow.cursor write %ofA : !first
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %r, %p = %w) -> (!flow.cursor<read>, !flow.cursor<write>) {
          %turn, %t1 = flow.acquire %ofB[%t] : !second, !flow.cursor<read>
          flow.release %turn : !flow.slot<read, [!flow.token]>
          %next, %p1 = flow.acquire %ofA[%p] : !first, !flow.cursor<write>
          flow.publish %next : !flow.slot<write, [!flow.token]>
          scf.yield %t1, %p1 : !flow.cursor<read>, !flow.cursor<write>
        }
      }
    }
    gpu.return
  }
}
//--- none.mlir
!first = !flow.ring<1, [!flow.token]>
!second = !flow.ring<1, [!flow.token]>
gpu.module @kernels {
  gpu.func @turns(%n: index, %x: memref<?xf32>) kernel {
    %ofA = flow.ring : !first
    %ofB = flow.ring : !second
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %fewer = arith.subi %n, %c1 : index
    flow.specialize {
      flow.group @a warps 4 (%g) {
        %r = flow.cursor read %ofA : !first
        %w = flow.cursor write %ofB : !second
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %r, %p = %w) -> (!flow.cursor<read>, !flow.cursor<write>) {
          %turn, %t1 = flow.acquire %ofA[%t] : !first, !flow.cursor<read>
          flow.release %turn : !flow.slot<read, [!flow.token]>
          %next, %p1 = flow.acquire %ofB[%p] : !second, !flow.cursor<write>
          flow.publish %next : !flow.slot<write, [!flow.token]>
          scf.yield %t1, %p1 : !flow.cursor<read>, !flow.cursor<write>
        }
      }
      flow.group @b warps 4 (%g) {
        %r = flow.cursor read %ofB : !second
        %w = flow.cursor write %ofA : !first
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %r, %p = %w) -> (!flow.cursor<read>, !flow.cursor<write>) {
          %turn, %t1 = flow.acquire %ofB[%t] : !second, !flow.cursor<read>
          flow.release %turn : !flow.slot<read, [!flow.token]>
          %next, %p1 = flow.acquire %ofA[%p] : !first, !flow.cursor<write>
          flow.publish %next : !flow.slot<write, [!flow.token]>
          scf.yield %t1, %p1 : !flow.cursor<read>, !flow.cursor<write>
        }
      }
    }
    gpu.return
  }
}
//--- fewer.mlir
!first = !flow.ring<1, [!flow.token], initial = 1>
!second = !flow.ring<1, [!flow.token]>
gpu.module @kernels {
  gpu.func @turns(%n: index, %x: memref<?xf32>) kernel {
    %ofA = flow.ring : !first
    %ofB = flow.ring : !second
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %fewer = arith.subi %n, %c1 : index
    flow.specialize {
      flow.group @a warps 4 (%g) {
        %r = flow.cursor read %ofA : !first
        %w = flow.cursor write %ofB : !second
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %r, %p = %w) -> (!flow.cursor<read>, !flow.cursor<write>) {
          %turn, %t1 = flow.acquire %ofA[%t] : !first, !flow.cursor<read>
          flow.release %turn : !flow.slot<read, [!flow.token]>
          %next, %p1 = flow.acquire %ofB[%p] : !second, !flow.cursor<write>
          flow.publish %next : !flow.slot<write, [!flow.token]>
          scf.yield %t1, %p1 : !flow.cursor<read>, !flow.cursor<write>
        }
      }
      flow.group @b warps 4 (%g) {
        %r = flow.cursor read %ofB : !second
        %w = flow.cursor write %ofA : !first
        %end:2 = scf.for %i = %c0 to %fewer step %c1 iter_args(%t = %r, %p = %w) -> (!flow.cursor<read>, !flow.cursor<write>) {
          %turn, %t1 = flow.acquire %ofB[%t] : !second, !flow.cursor<read>
          flow.release %turn : !flow.slot<read, [!flow.token]>
          %next, %p1 = flow.acquire %ofA[%p] : !first, !flow.cursor<write>
          flow.publish %next : !flow.slot<write, [!flow.token]>
          scf.yield %t1, %p1 : !flow.cursor<read>, !flow.cursor<write>
        }
      }
    }
    gpu.return
  }
}
//--- data.mlir
!first = !flow.ring<1, [!flow.token], initial = 1>
!second = !flow.ring<1, [!flow.token]>
gpu.module @kernels {
  gpu.func @turns(%n: index, %x: memref<?xf32>) kernel {
    %ofA = flow.ring : !first
    %ofB = flow.ring : !second
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %fewer = arith.subi %n, %c1 : index
    flow.specialize {
      flow.group @a warps 4 (%g) {
        %r = flow.cursor read %ofA : !first
        %w = flow.cursor write %ofB : !second
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %r, %p = %w) -> (!flow.cursor<read>, !flow.cursor<write>) {
          %turn, %t1 = flow.acquire %ofA[%t] : !first, !flow.cursor<read>
          flow.release %turn : !flow.slot<read, [!flow.token]>
          %next, %p1 = flow.acquire %ofB[%p] : !second, !flow.cursor<write>
          flow.publish %next : !flow.slot<write, [!flow.token]>
          scf.yield %t1, %p1 : !flow.cursor<read>, !flow.cursor<write>
        }
      }
      flow.group @b warps 4 (%g) {
        %r = flow.cursor read %ofB : !second
        %w = flow.cursor write %ofA : !first
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %r, %p = %w) -> (!flow.cursor<read>, !flow.cursor<write>) {
          %tile = tile.load %x[%c0] : memref<?xf32> -> tensor<8xf32>
          %zero = arith.constant dense<0.0> : tensor<8xf32>
          %some = arith.cmpf ogt, %tile, %zero : tensor<8xf32>
          %if = tile.any_possible %some : tensor<8xi1>
          %t1, %p1 = scf.if %if -> (!flow.cursor<read>, !flow.cursor<write>) {
            %turn, %t2 = flow.acquire %ofB[%t] : !second, !flow.cursor<read>
            flow.release %turn : !flow.slot<read, [!flow.token]>
            %next, %p2 = flow.acquire %ofA[%p] : !first, !flow.cursor<write>
            flow.publish %next : !flow.slot<write, [!flow.token]>
            scf.yield %t2, %p2 : !flow.cursor<read>, !flow.cursor<write>
          } else {
            scf.yield %t, %p : !flow.cursor<read>, !flow.cursor<write>
          }
          scf.yield %t1, %p1 : !flow.cursor<read>, !flow.cursor<write>
        }
      }
    }
    gpu.return
  }
}
