// One replica fills a ring for all of its group.
// RUN: split-file %s %t
// RUN: fa3-opt %t/leader.mlir -warp-check -o /dev/null
// RUN: not fa3-opt %t/unmarked.mlir -warp-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNMARKED
// RUN: not fa3-opt %t/divergent.mlir -warp-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=DIVERGENT
// RUN: not fa3-opt %t/ahead.mlir -warp-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=AHEAD
// RUN: not fa3-opt %t/fewer.mlir -warp-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=FEWER
// RUN: not fa3-opt %t/block.mlir -warp-check -o /dev/null 2>&1 | FileCheck %s --check-prefix=BLOCK

// UNMARKED: error: 'warp.ring' op expects one writer of part 0, got more
// UNMARKED: note: group 'math' of 2 replicas writes here

// The other replica would wait for entries that the leader does not write.
// DIVERGENT: divergent.mlir:5:{{.*}} error: is not balanced: one replica of 'math' fills it for all, which may differ in how often one acquires to write
// DIVERGENT: divergent.mlir:12:{{.*}} note: this depends on the replica

// Two entries ahead in a ring of two: the leader waits for itself.
// AHEAD: error: 'warp.acquire' op waits forever: no group can go on
// AHEAD: note: @math replica 0 waits here for @math replica {{[01]}} to release entry 0 of the ring

// FEWER: error: is not balanced: 'math' acquires to read 1 time more than 'math' acquires to write

// What the block decides is not the replica's alone.
// BLOCK: error: is not balanced: 'math' acquires to read 1 time more than 'math' acquires to write
//--- leader.mlir
!ring = !warp.ring<2, [tensor<8x8xf32>]>
!write = !warp.slot<write, [tensor<8x8xf32>]>
!read = !warp.slot<read, [tensor<8x8xf32>]>
gpu.module @kernels {
  // One entry ahead.
  gpu.func @ahead(%n: index) kernel {
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @math warps 4 replicas 3 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = warp.cursor write %ring leader : !ring
        %r = warp.cursor read %ring : !ring
        %first, %w1 = warp.acquire %ring[%w] : !ring, !warp.cursor<write>
        warp.publish %first : !write
        %last:2 = scf.for %i = %c0 to %n step %c1 iter_args(%cw = %w1, %cr = %r) -> (!warp.cursor<write>, !warp.cursor<read>) {
          %filled, %nw = warp.acquire %ring[%cw] : !ring, !warp.cursor<write>
          warp.publish %filled : !write
          %held, %nr = warp.acquire %ring[%cr] : !ring, !warp.cursor<read>
          warp.release %held : !read
          scf.yield %nw, %nr : !warp.cursor<write>, !warp.cursor<read>
        }
        %held, %nr = warp.acquire %ring[%last#1] : !ring, !warp.cursor<read>
        warp.release %held : !read
      }
    }
    gpu.return
  }
}
//--- unmarked.mlir
!ring = !warp.ring<2, [tensor<8x8xf32>]>
!write = !warp.slot<write, [tensor<8x8xf32>]>
!read = !warp.slot<read, [tensor<8x8xf32>]>
gpu.module @kernels {
  gpu.func @unmarked() kernel {
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %w = warp.cursor write %ring : !ring
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
!ring = !warp.ring<1, [tensor<8x8xf32>]>
!write = !warp.slot<write, [tensor<8x8xf32>]>
gpu.module @kernels {
  gpu.func @divergent() kernel {
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = warp.cursor write %ring leader : !ring
        %r = warp.cursor read %ring : !ring
        %last:2 = scf.for %i = %c0 to %g step %c1 iter_args(%cw = %w, %cr = %r) -> (!warp.cursor<write>, !warp.cursor<read>) {
          %filled, %nw = warp.acquire %ring[%cw] : !ring, !warp.cursor<write>
          warp.publish %filled : !write
          %held, %nr = warp.acquire %ring[%cr] : !ring, !warp.cursor<read>
          warp.release %held : !warp.slot<read, [tensor<8x8xf32>]>
          scf.yield %nw, %nr : !warp.cursor<write>, !warp.cursor<read>
        }
      }
    }
    gpu.return
  }
}
//--- ahead.mlir
!ring = !warp.ring<2, [tensor<8x8xf32>]>
!write = !warp.slot<write, [tensor<8x8xf32>]>
!read = !warp.slot<read, [tensor<8x8xf32>]>
gpu.module @kernels {
  gpu.func @ahead() kernel {
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %w = warp.cursor write %ring leader : !ring
        %r = warp.cursor read %ring : !ring
        %f0, %w1 = warp.acquire %ring[%w] : !ring, !warp.cursor<write>
        warp.publish %f0 : !write
        %f1, %w2 = warp.acquire %ring[%w1] : !ring, !warp.cursor<write>
        warp.publish %f1 : !write
        %f2, %w3 = warp.acquire %ring[%w2] : !ring, !warp.cursor<write>
        warp.publish %f2 : !write
        %h0, %r1 = warp.acquire %ring[%r] : !ring, !warp.cursor<read>
        warp.release %h0 : !read
        %h1, %r2 = warp.acquire %ring[%r1] : !ring, !warp.cursor<read>
        warp.release %h1 : !read
        %h2, %r3 = warp.acquire %ring[%r2] : !ring, !warp.cursor<read>
        warp.release %h2 : !read
      }
    }
    gpu.return
  }
}
//--- fewer.mlir
!ring = !warp.ring<2, [tensor<8x8xf32>]>
!write = !warp.slot<write, [tensor<8x8xf32>]>
!read = !warp.slot<read, [tensor<8x8xf32>]>
gpu.module @kernels {
  gpu.func @fewer() kernel {
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %w = warp.cursor write %ring leader : !ring
        %r = warp.cursor read %ring : !ring
        %f0, %w1 = warp.acquire %ring[%w] : !ring, !warp.cursor<write>
        warp.publish %f0 : !write
        %h0, %r1 = warp.acquire %ring[%r] : !ring, !warp.cursor<read>
        warp.release %h0 : !read
        %h1, %r2 = warp.acquire %ring[%r1] : !ring, !warp.cursor<read>
        warp.release %h1 : !read
      }
    }
    gpu.return
  }
}
//--- block.mlir
!ring = !warp.ring<2, [tensor<8x8xf32>]>
!write = !warp.slot<write, [tensor<8x8xf32>]>
!read = !warp.slot<read, [tensor<8x8xf32>]>
gpu.module @kernels {
  gpu.func @block() kernel {
    %ring = warp.ring : !ring
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %b = gpu.block_id x
        %first = arith.cmpi eq, %b, %c0 : index
        %w = warp.cursor write %ring leader : !ring
        %r = warp.cursor read %ring : !ring
        %w1 = scf.if %first -> !warp.cursor<write> {
          %f0, %next = warp.acquire %ring[%w] : !ring, !warp.cursor<write>
          warp.publish %f0 : !write
          scf.yield %next : !warp.cursor<write>
        } else {
          scf.yield %w : !warp.cursor<write>
        }
        %h0, %r1 = warp.acquire %ring[%r] : !ring, !warp.cursor<read>
        warp.release %h0 : !read
      }
    }
    gpu.return
  }
}
