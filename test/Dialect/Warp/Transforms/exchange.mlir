// Replicas of a group that each write a part of what all of them read.
// RUN: split-file %s %t
// RUN: fa3-opt %t/exchange.mlir -warp-check -o /dev/null
// RUN: not fa3-opt %t/parts.mlir -warp-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=PARTS
// RUN: not fa3-opt %t/divergent.mlir -warp-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=DIVERGENT
// RUN: not fa3-opt %t/early.mlir -warp-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=EARLY

// One part has no writer.
// PARTS: error: 'warp.ring' op has no writer of part 2, so reading it blocks forever

// The other replica would wait for a part that nobody writes.
// DIVERGENT: error: is not balanced: replicas of 'math' may differ in how often one acquires to
// DIVERGENT: note: this depends on the replica

// Read before it is written: the parts of all wait for each other.
// EARLY: error: 'warp.acquire' op waits forever: no group can go on

//--- exchange.mlir
!ring = !warp.ring<1, [tensor<16x8xf32>], parts = 2>
!write = !warp.slot<write, [tensor<16x8xf32>]>
!read = !warp.slot<read, [tensor<16x8xf32>]>
gpu.module @kernels {
  gpu.func @exchange(%n: index) kernel {
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = warp.cursor write %ring each : !ring
        %r = warp.cursor read %ring : !ring
        %last:2 = scf.for %i = %c0 to %n step %c1 iter_args(%cw = %w, %cr = %r) -> (!warp.cursor<write>, !warp.cursor<read>) {
          %filled, %nw = warp.acquire %ring[%cw] : !ring, !warp.cursor<write>
          warp.publish %filled : !write
          %held, %nr = warp.acquire %ring[%cr] : !ring, !warp.cursor<read>
          warp.release %held : !read
          scf.yield %nw, %nr : !warp.cursor<write>, !warp.cursor<read>
        }
      }
    }
    gpu.return
  }
}
//--- parts.mlir
!ring = !warp.ring<1, [tensor<16x8xf32>], parts = 3>
!write = !warp.slot<write, [tensor<16x8xf32>]>
!read = !warp.slot<read, [tensor<16x8xf32>]>
gpu.module @kernels {
  gpu.func @parts() kernel {
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %w = warp.cursor write %ring each : !ring
        %r = warp.cursor read %ring : !ring
        %filled, %nw = warp.acquire %ring[%w] : !ring, !warp.cursor<write>
        warp.publish %filled : !write
        %held, %nr = warp.acquire %ring[%r] : !ring, !warp.cursor<read>
        warp.release %held : !read
      }
    }
    gpu.return
  }
}
//--- divergent.mlir
!ring = !warp.ring<1, [tensor<16x8xf32>], parts = 2>
!write = !warp.slot<write, [tensor<16x8xf32>]>
!read = !warp.slot<read, [tensor<16x8xf32>]>
gpu.module @kernels {
  gpu.func @divergent(%n: index) kernel {
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = warp.cursor write %ring each : !ring
        %r = warp.cursor read %ring : !ring
        %last:2 = scf.for %i = %g to %n step %c1 iter_args(%cw = %w, %cr = %r) -> (!warp.cursor<write>, !warp.cursor<read>) {
          %filled, %nw = warp.acquire %ring[%cw] : !ring, !warp.cursor<write>
          warp.publish %filled : !write
          %held, %nr = warp.acquire %ring[%cr] : !ring, !warp.cursor<read>
          warp.release %held : !read
          scf.yield %nw, %nr : !warp.cursor<write>, !warp.cursor<read>
        }
      }
    }
    gpu.return
  }
}
//--- early.mlir
!ring = !warp.ring<1, [tensor<16x8xf32>], parts = 2>
!write = !warp.slot<write, [tensor<16x8xf32>]>
!read = !warp.slot<read, [tensor<16x8xf32>]>
gpu.module @kernels {
  gpu.func @early() kernel {
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %w = warp.cursor write %ring each : !ring
        %r = warp.cursor read %ring : !ring
        %held, %nr = warp.acquire %ring[%r] : !ring, !warp.cursor<read>
        warp.release %held : !read
        %filled, %nw = warp.acquire %ring[%w] : !ring, !warp.cursor<write>
        warp.publish %filled : !write
      }
    }
    gpu.return
  }
}
