// A loop of a few rounds is no loop that the groups run in step: what is copied in
// one loop may be taken in two rounds, and every entry has to be taken.
// RUN: fa3-opt %s -split-input-file -hopper-check-protocol -verify-diagnostics -o /dev/null
!map = !hopper.tensormap<[64, 64], f16, 128>
!ring = !hopper.buffer<2, tensor<64x64xf16>, 128>
!full = !hopper.barrier<2, 1>
!empty = !hopper.barrier<2, 1>
gpu.module @kernels {
  gpu.func @all(%in: !map, %steps: i32, %part: i32) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %buf = hopper.smem.alloc offset 0 : !ring
    %full = hopper.barrier.alloc offset 32768 : !full
    %empty = hopper.barrier.alloc offset 32784 : !empty
    hopper.barrier.init %full, %empty : !full, !empty
    gpu.barrier
    warp.specialize {
      warp.group @load warps 1 at 0 (%g) {
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %end:2 = scf.for %k = %c0 to %steps step %c1 iter_args(%i = %c0, %p = %c1) -> (i32, i32) : i32 {
          hopper.barrier.wait %empty[%i] parity %p : !empty
          hopper.barrier.expect_tx %full[%i], 8192 : !full
          hopper.tma.load %in[%c0, %c0] to %buf[%i, %c0, %c0] signal %full[%i] : !map, !ring, !full
          %i1 = arith.xori %i, %c1 : i32
          %p1 = arith.xori %p, %i : i32
          scf.yield %i1, %p1 : i32, i32
        }
      }
      warp.group @take warps 4 at 4 (%g) {
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %c2 = arith.constant 2 : i32
        %most = arith.minsi %part, %steps : i32
        %middle = arith.maxsi %most, %c0 : i32
        %end:2 = scf.for %round = %c0 to %c2 step %c1 iter_args(%i0 = %c0, %p0 = %c0) -> (i32, i32) : i32 {
          %is_first = arith.cmpi eq, %round, %c0 : i32
          %from = arith.select %is_first, %c0, %middle : i32
          %to = arith.select %is_first, %middle, %steps : i32
          %r:2 = scf.for %k = %from to %to step %c1 iter_args(%i = %i0, %p = %p0) -> (i32, i32) : i32 {
            hopper.barrier.wait %full[%i] parity %p : !full
            hopper.named_barrier.sync %c1 threads 128
            hopper.barrier.arrive %empty[%i] : !empty
            %i1 = arith.xori %i, %c1 : i32
            %p1 = arith.xori %p, %i : i32
            scf.yield %i1, %p1 : i32, i32
          }
          scf.yield %r#0, %r#1 : i32, i32
        }
      }
    }
    gpu.return
  }
}

// -----

!map = !hopper.tensormap<[64, 64], f16, 128>
!ring = !hopper.buffer<2, tensor<64x64xf16>, 128>
!full = !hopper.barrier<2, 1>
!empty = !hopper.barrier<2, 1>
gpu.module @kernels {
  gpu.func @one_is_left(%in: !map, %steps: i32, %part: i32) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %buf = hopper.smem.alloc offset 0 : !ring
    // expected-error @+1 {{is not balanced: 'load' arrives not as often as 'take' waits}}
    %full = hopper.barrier.alloc offset 32768 : !full
    %empty = hopper.barrier.alloc offset 32784 : !empty
    hopper.barrier.init %full, %empty : !full, !empty
    gpu.barrier
    warp.specialize {
      warp.group @load warps 1 at 0 (%g) {
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        // expected-note @+1 {{when this loop runs}}
        %end:2 = scf.for %k = %c0 to %steps step %c1 iter_args(%i = %c0, %p = %c1) -> (i32, i32) : i32 {
          hopper.barrier.wait %empty[%i] parity %p : !empty
          hopper.barrier.expect_tx %full[%i], 8192 : !full
          hopper.tma.load %in[%c0, %c0] to %buf[%i, %c0, %c0] signal %full[%i] : !map, !ring, !full
          %i1 = arith.xori %i, %c1 : i32
          %p1 = arith.xori %p, %i : i32
          scf.yield %i1, %p1 : i32, i32
        }
      }
      warp.group @take warps 4 at 4 (%g) {
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %c2 = arith.constant 2 : i32
        %most = arith.minsi %part, %steps : i32
        %middle = arith.maxsi %most, %c0 : i32
        %second = arith.addi %middle, %c1 : i32
        %end:2 = scf.for %round = %c0 to %c2 step %c1 iter_args(%i0 = %c0, %p0 = %c0) -> (i32, i32) : i32 {
          %is_first = arith.cmpi eq, %round, %c0 : i32
          %from = arith.select %is_first, %c0, %second : i32
          %to = arith.select %is_first, %middle, %steps : i32
          // expected-note @+2 {{when this loop runs}}
          // expected-note @+1 {{when this loop does not run}}
          %r:2 = scf.for %k = %from to %to step %c1 iter_args(%i = %i0, %p = %p0) -> (i32, i32) : i32 {
            hopper.barrier.wait %full[%i] parity %p : !full
            hopper.named_barrier.sync %c1 threads 128
            hopper.barrier.arrive %empty[%i] : !empty
            %i1 = arith.xori %i, %c1 : i32
            %p1 = arith.xori %p, %i : i32
            scf.yield %i1, %p1 : i32, i32
          }
          scf.yield %r#0, %r#1 : i32, i32
        }
      }
    }
    gpu.return
  }
}
