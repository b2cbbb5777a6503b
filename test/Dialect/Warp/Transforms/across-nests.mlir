// What is filled in front of a nest of loops and drained behind it is counted
// across the nest.
// RUN: split-file %s %t
// RUN: fa3-opt %t/across.mlir -warp-check -o /dev/null
// RUN: not fa3-opt %t/twice.mlir -warp-check -o /dev/null 2>&1 | FileCheck %s

// CHECK: twice.mlir:4:{{.*}} error: is not balanced: 'math' acquires to read 1 time more than 'load' acquires to write

//--- across.mlir
!ring = !warp.ring<1, [tensor<8x8xf32>]>
gpu.module @kernels {
  gpu.func @across(%n: index, %m: index) kernel {
    %own = warp.ring : !ring
    %steps = warp.ring : !ring
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = warp.cursor write %own : !ring
        %v = warp.cursor write %steps : !ring
        %first, %w1 = warp.acquire %own[%w] : !ring, !warp.cursor<write>
        warp.publish %first : !warp.slot<write, [tensor<8x8xf32>]>
        %end = scf.for %i = %c0 to %n step %c1 iter_args(%a = %v) -> (!warp.cursor<write>) {
          %inner = scf.for %j = %c0 to %m step %c1 iter_args(%c = %a) -> (!warp.cursor<write>) {
            %s, %next = warp.acquire %steps[%c] : !ring, !warp.cursor<write>
            warp.publish %s : !warp.slot<write, [tensor<8x8xf32>]>
            scf.yield %next : !warp.cursor<write>
          }
          scf.yield %inner : !warp.cursor<write>
        }
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %r = warp.cursor read %own : !ring
        %v = warp.cursor read %steps : !ring
        %end = scf.for %i = %c0 to %n step %c1 iter_args(%a = %v) -> (!warp.cursor<read>) {
          %inner = scf.for %j = %c0 to %m step %c1 iter_args(%c = %a) -> (!warp.cursor<read>) {
            %s, %next = warp.acquire %steps[%c] : !ring, !warp.cursor<read>
            warp.release %s : !warp.slot<read, [tensor<8x8xf32>]>
            scf.yield %next : !warp.cursor<read>
          }
          scf.yield %inner : !warp.cursor<read>
        }
        %held, %r1 = warp.acquire %own[%r] : !ring, !warp.cursor<read>
        warp.release %held : !warp.slot<read, [tensor<8x8xf32>]>
      }
    }
    gpu.return
  }
}
//--- twice.mlir
!ring = !warp.ring<1, [tensor<8x8xf32>]>
gpu.module @kernels {
  gpu.func @twice(%n: index, %m: index) kernel {
    %own = warp.ring : !ring
    %steps = warp.ring : !ring
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %w = warp.cursor write %own : !ring
        %v = warp.cursor write %steps : !ring
        %first, %w1 = warp.acquire %own[%w] : !ring, !warp.cursor<write>
        warp.publish %first : !warp.slot<write, [tensor<8x8xf32>]>
        %end = scf.for %i = %c0 to %n step %c1 iter_args(%a = %v) -> (!warp.cursor<write>) {
          %inner = scf.for %j = %c0 to %m step %c1 iter_args(%c = %a) -> (!warp.cursor<write>) {
            %s, %next = warp.acquire %steps[%c] : !ring, !warp.cursor<write>
            warp.publish %s : !warp.slot<write, [tensor<8x8xf32>]>
            scf.yield %next : !warp.cursor<write>
          }
          scf.yield %inner : !warp.cursor<write>
        }
      }
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %r = warp.cursor read %own : !ring
        %v = warp.cursor read %steps : !ring
        %end = scf.for %i = %c0 to %n step %c1 iter_args(%a = %v) -> (!warp.cursor<read>) {
          %inner = scf.for %j = %c0 to %m step %c1 iter_args(%c = %a) -> (!warp.cursor<read>) {
            %s, %next = warp.acquire %steps[%c] : !ring, !warp.cursor<read>
            warp.release %s : !warp.slot<read, [tensor<8x8xf32>]>
            scf.yield %next : !warp.cursor<read>
          }
          scf.yield %inner : !warp.cursor<read>
        }
        %held, %r1 = warp.acquire %own[%r] : !ring, !warp.cursor<read>
        warp.release %held : !warp.slot<read, [tensor<8x8xf32>]>
        %again, %r2 = warp.acquire %own[%r1] : !ring, !warp.cursor<read>
        warp.release %again : !warp.slot<read, [tensor<8x8xf32>]>
      }
    }
    gpu.return
  }
}
