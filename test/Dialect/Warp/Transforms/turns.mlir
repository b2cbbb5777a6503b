// Turns: a cycle of rings of tokens, of which one has an initial entry.
// RUN: split-file %s %t
// RUN: fa3-opt %t/turns.mlir -warp-check -o /dev/null
// RUN: not fa3-opt %t/none.mlir -warp-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not fa3-opt %t/fewer.mlir -warp-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=FEWER
// RUN: not fa3-opt %t/data.mlir -warp-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=DATA

// Nobody has the first turn.
// NONE: error: 'warp.acquire' op waits forever: no group can go on
// NONE: note: @a waits here for @b to publish entry 0 of the ring
// NONE: note: @b waits here for @a to publish entry 0 of the ring

// One group takes a turn less.
// FEWER: error: is not balanced: 'a' acquires to read not as often as 'b' acquires to write

// Whether a turn is taken depends on data.
// DATA: error: 'scf.if' op has a condition that is not the same in every group, yet encloses accesses that join them
//--- turns.mlir
!first = !warp.ring<1, [!warp.token], initial = 1>
!second = !warp.ring<1, [!warp.token]>
gpu.module @kernels {
  gpu.func @turns(%n: index, %x: memref<?xf32>) kernel {
    %ofA = warp.ring : !first
    %ofB = warp.ring : !second
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %fewer = arith.subi %n, %c1 : index
    warp.specialize {
      warp.group @a warps 4 (%g) {
        %r = warp.cursor read %ofA : !first
        %w = warp.cursor write %ofB : !second
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %r, %p = %w) -> (!warp.cursor<read>, !warp.cursor<write>) {
          %turn, %t1 = warp.acquire %ofA[%t] : !first, !warp.cursor<read>
          warp.release %turn : !warp.slot<read, [!warp.token]>
          %next, %p1 = warp.acquire %ofB[%p] : !second, !warp.cursor<write>
          warp.publish %next : !warp.slot<write, [!warp.token]>
          scf.yield %t1, %p1 : !warp.cursor<read>, !warp.cursor<write>
        }
      }
      warp.group @b warps 4 (%g) {
        %r = warp.cursor read %ofB : !second
        %w = warp.cursor write %ofA : !first
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %r, %p = %w) -> (!warp.cursor<read>, !warp.cursor<write>) {
          %turn, %t1 = warp.acquire %ofB[%t] : !second, !warp.cursor<read>
          warp.release %turn : !warp.slot<read, [!warp.token]>
          %next, %p1 = warp.acquire %ofA[%p] : !first, !warp.cursor<write>
          warp.publish %next : !warp.slot<write, [!warp.token]>
          scf.yield %t1, %p1 : !warp.cursor<read>, !warp.cursor<write>
        }
      }
    }
    gpu.return
  }
}
//--- none.mlir
!first = !warp.ring<1, [!warp.token]>
!second = !warp.ring<1, [!warp.token]>
gpu.module @kernels {
  gpu.func @turns(%n: index, %x: memref<?xf32>) kernel {
    %ofA = warp.ring : !first
    %ofB = warp.ring : !second
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %fewer = arith.subi %n, %c1 : index
    warp.specialize {
      warp.group @a warps 4 (%g) {
        %r = warp.cursor read %ofA : !first
        %w = warp.cursor write %ofB : !second
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %r, %p = %w) -> (!warp.cursor<read>, !warp.cursor<write>) {
          %turn, %t1 = warp.acquire %ofA[%t] : !first, !warp.cursor<read>
          warp.release %turn : !warp.slot<read, [!warp.token]>
          %next, %p1 = warp.acquire %ofB[%p] : !second, !warp.cursor<write>
          warp.publish %next : !warp.slot<write, [!warp.token]>
          scf.yield %t1, %p1 : !warp.cursor<read>, !warp.cursor<write>
        }
      }
      warp.group @b warps 4 (%g) {
        %r = warp.cursor read %ofB : !second
        %w = warp.cursor write %ofA : !first
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %r, %p = %w) -> (!warp.cursor<read>, !warp.cursor<write>) {
          %turn, %t1 = warp.acquire %ofB[%t] : !second, !warp.cursor<read>
          warp.release %turn : !warp.slot<read, [!warp.token]>
          %next, %p1 = warp.acquire %ofA[%p] : !first, !warp.cursor<write>
          warp.publish %next : !warp.slot<write, [!warp.token]>
          scf.yield %t1, %p1 : !warp.cursor<read>, !warp.cursor<write>
        }
      }
    }
    gpu.return
  }
}
//--- fewer.mlir
!first = !warp.ring<1, [!warp.token], initial = 1>
!second = !warp.ring<1, [!warp.token]>
gpu.module @kernels {
  gpu.func @turns(%n: index, %x: memref<?xf32>) kernel {
    %ofA = warp.ring : !first
    %ofB = warp.ring : !second
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %fewer = arith.subi %n, %c1 : index
    warp.specialize {
      warp.group @a warps 4 (%g) {
        %r = warp.cursor read %ofA : !first
        %w = warp.cursor write %ofB : !second
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %r, %p = %w) -> (!warp.cursor<read>, !warp.cursor<write>) {
          %turn, %t1 = warp.acquire %ofA[%t] : !first, !warp.cursor<read>
          warp.release %turn : !warp.slot<read, [!warp.token]>
          %next, %p1 = warp.acquire %ofB[%p] : !second, !warp.cursor<write>
          warp.publish %next : !warp.slot<write, [!warp.token]>
          scf.yield %t1, %p1 : !warp.cursor<read>, !warp.cursor<write>
        }
      }
      warp.group @b warps 4 (%g) {
        %r = warp.cursor read %ofB : !second
        %w = warp.cursor write %ofA : !first
        %end:2 = scf.for %i = %c0 to %fewer step %c1 iter_args(%t = %r, %p = %w) -> (!warp.cursor<read>, !warp.cursor<write>) {
          %turn, %t1 = warp.acquire %ofB[%t] : !second, !warp.cursor<read>
          warp.release %turn : !warp.slot<read, [!warp.token]>
          %next, %p1 = warp.acquire %ofA[%p] : !first, !warp.cursor<write>
          warp.publish %next : !warp.slot<write, [!warp.token]>
          scf.yield %t1, %p1 : !warp.cursor<read>, !warp.cursor<write>
        }
      }
    }
    gpu.return
  }
}
//--- data.mlir
!first = !warp.ring<1, [!warp.token], initial = 1>
!second = !warp.ring<1, [!warp.token]>
gpu.module @kernels {
  gpu.func @turns(%n: index, %x: memref<?xf32>) kernel {
    %ofA = warp.ring : !first
    %ofB = warp.ring : !second
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %fewer = arith.subi %n, %c1 : index
    warp.specialize {
      warp.group @a warps 4 (%g) {
        %r = warp.cursor read %ofA : !first
        %w = warp.cursor write %ofB : !second
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %r, %p = %w) -> (!warp.cursor<read>, !warp.cursor<write>) {
          %turn, %t1 = warp.acquire %ofA[%t] : !first, !warp.cursor<read>
          warp.release %turn : !warp.slot<read, [!warp.token]>
          %next, %p1 = warp.acquire %ofB[%p] : !second, !warp.cursor<write>
          warp.publish %next : !warp.slot<write, [!warp.token]>
          scf.yield %t1, %p1 : !warp.cursor<read>, !warp.cursor<write>
        }
      }
      warp.group @b warps 4 (%g) {
        %r = warp.cursor read %ofB : !second
        %w = warp.cursor write %ofA : !first
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %r, %p = %w) -> (!warp.cursor<read>, !warp.cursor<write>) {
          %tile = tile.load %x[%c0] : memref<?xf32> -> tensor<8xf32>
          %zero = arith.constant dense<0.0> : tensor<8xf32>
          %some = arith.cmpf ogt, %tile, %zero : tensor<8xf32>
          %if = tile.any_possible %some : tensor<8xi1>
          %t1, %p1 = scf.if %if -> (!warp.cursor<read>, !warp.cursor<write>) {
            %turn, %t2 = warp.acquire %ofB[%t] : !second, !warp.cursor<read>
            warp.release %turn : !warp.slot<read, [!warp.token]>
            %next, %p2 = warp.acquire %ofA[%p] : !first, !warp.cursor<write>
            warp.publish %next : !warp.slot<write, [!warp.token]>
            scf.yield %t2, %p2 : !warp.cursor<read>, !warp.cursor<write>
          } else {
            scf.yield %t, %p : !warp.cursor<read>, !warp.cursor<write>
          }
          scf.yield %t1, %p1 : !warp.cursor<read>, !warp.cursor<write>
        }
      }
    }
    gpu.return
  }
}
