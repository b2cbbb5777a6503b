// Behind a branch that takes an entry the next one's number follows from its
// condition, as canonicalization leaves it: 1 and 0, or one of two values.
// RUN: fa3-opt %s -split-input-file -hopper-check-protocol -verify-diagnostics -o /dev/null
!map = !hopper.tensormap<[64, 64], f16, 128>
!ring = !hopper.buffer<2, tensor<64x64xf16>, 128>
!full = !hopper.barrier<2, 1>
!empty = !hopper.barrier<2, 1>
gpu.module @kernels {
  gpu.func @either_way(%in: !map, %steps: i32, %first: i32, %end: i32) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %buf = hopper.smem.alloc offset 0 : !ring
    %full = hopper.barrier.alloc offset 32768 : !full
    %empty = hopper.barrier.alloc offset 32784 : !empty
    hopper.barrier.init %full, %empty : !full, !empty
    gpu.barrier
    warp.specialize {
      warp.group @load warps 1 at 0 (%g) {
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %more = arith.cmpi slt, %first, %end : i32
        %i0 = arith.extui %more : i1 to i32
        scf.if %more {
          hopper.barrier.wait %empty[%c0] parity %c1 : !empty
          hopper.barrier.expect_tx %full[%c0], 8192 : !full
          hopper.tma.load %in[%c0, %c0] to %buf[%c0, %c0, %c0] signal %full[%c0] : !map, !ring, !full
        }
        %r:2 = scf.for %k = %c0 to %steps step %c1 iter_args(%i = %i0, %p = %c1) -> (i32, i32) : i32 {
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
        %more = arith.cmpi slt, %first, %end : i32
        %none = arith.cmpi sge, %first, %end : i32
        %i0 = arith.select %none, %c0, %c1 : i32
        scf.if %more {
          hopper.barrier.wait %full[%c0] parity %c0 : !full
          hopper.named_barrier.sync %c1 threads 128
          hopper.barrier.arrive %empty[%c0] : !empty
        }
        %r:2 = scf.for %k = %c0 to %steps step %c1 iter_args(%i = %i0, %p = %c0) -> (i32, i32) : i32 {
          hopper.barrier.wait %full[%i] parity %p : !full
          hopper.named_barrier.sync %c1 threads 128
          hopper.barrier.arrive %empty[%i] : !empty
          %i1 = arith.xori %i, %c1 : i32
          %p1 = arith.xori %p, %i : i32
          scf.yield %i1, %p1 : i32, i32
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
  gpu.func @wrong_way(%in: !map, %steps: i32, %first: i32, %end: i32) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %buf = hopper.smem.alloc offset 0 : !ring
    %full = hopper.barrier.alloc offset 32768 : !full
    %empty = hopper.barrier.alloc offset 32784 : !empty
    hopper.barrier.init %full, %empty : !full, !empty
    gpu.barrier
    warp.specialize {
      // expected-note @+1 {{@load has ended}}
      warp.group @load warps 1 at 0 (%g) {
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %more = arith.cmpi slt, %first, %end : i32
        %i0 = arith.extui %more : i1 to i32
        scf.if %more {
          hopper.barrier.wait %empty[%c0] parity %c1 : !empty
          // expected-note @+1 {{@load would arrive here}}
          hopper.barrier.expect_tx %full[%c0], 8192 : !full
          hopper.tma.load %in[%c0, %c0] to %buf[%c0, %c0, %c0] signal %full[%c0] : !map, !ring, !full
        }
        %r:2 = scf.for %k = %c0 to %steps step %c1 iter_args(%i = %i0, %p = %c1) -> (i32, i32) : i32 {
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
        %true = arith.constant true
        %more = arith.cmpi slt, %first, %end : i32
        %none = arith.xori %more, %true : i1
        %i0 = arith.select %none, %c1, %c0 : i32
        scf.if %more {
          hopper.barrier.wait %full[%c0] parity %c0 : !full
          hopper.named_barrier.sync %c1 threads 128
          hopper.barrier.arrive %empty[%c0] : !empty
        }
        // expected-note @+1 {{@take has begun 1 iteration of this loop}}
        %r:2 = scf.for %k = %c0 to %steps step %c1 iter_args(%i = %i0, %p = %c0) -> (i32, i32) : i32 {
          // expected-error @+2 {{waits forever: no group can go on}}
          // expected-note @+1 {{@take waits here for mbarrier 1: 1 arrival and 0 bytes are missing}}
          hopper.barrier.wait %full[%i] parity %p : !full
          hopper.named_barrier.sync %c1 threads 128
          hopper.barrier.arrive %empty[%i] : !empty
          %i1 = arith.xori %i, %c1 : i32
          %p1 = arith.xori %p, %i : i32
          scf.yield %i1, %p1 : i32, i32
        }
      }
    }
    gpu.return
  }
}
