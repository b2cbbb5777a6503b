// RUN: fa3-opt %s -hopper-check-protocol=most-states=400 | FileCheck %s
// RUN: not fa3-opt %s -hopper-check-protocol=most-states=10 2>&1 | FileCheck %s --check-prefix=FEW

// A ring of the loop over tiles is a part of its own, in which the loop over
// heads touches nothing that both groups share: the other ring is left out. So
// nothing bounds how far one group is ahead there. If that told states apart,
// there would be more than 2000.

// CHECK-LABEL: gpu.func @heads
// FEW: error: 'warp.group' op has more than 10 states relative to the other groups
!map = !hopper.tensormap<[64, 64], f16, 128>
!ring = !hopper.buffer<2, tensor<64x64xf16>, 128>
!full = !hopper.barrier<2, 1>
!empty = !hopper.barrier<2, 2>
!desc = !hopper.desc<64, f16, 128, k>
!p = vector<32xf16>
!o = vector<32xf32>
gpu.module @kernels {
  gpu.func @heads(%a: !map, %b: !map, %tiles: i32, %heads: i32, %steps: i32) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %tile = hopper.smem.alloc offset 0 : !ring
    %step = hopper.smem.alloc offset 16384 : !ring
    %full_a = hopper.barrier.alloc offset 32768 : !full
    %empty_a = hopper.barrier.alloc offset 32784 : !empty
    %full_b = hopper.barrier.alloc offset 32800 : !full
    %empty_b = hopper.barrier.alloc offset 32816 : !empty
    hopper.barrier.init %full_a, %empty_a, %full_b, %empty_b : !full, !empty, !full, !empty
    gpu.barrier
    warp.specialize {
      warp.group @load warps 1 at 0 (%g) {
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %end:4 = scf.for %t = %c0 to %tiles step %c1 iter_args(%i0 = %c0, %p0 = %c1, %j0 = %c0, %q0 = %c1) -> (i32, i32, i32, i32) : i32 {
          hopper.barrier.wait %empty_a[%i0] parity %p0 : !empty
          hopper.barrier.expect_tx %full_a[%i0], 8192 : !full
          hopper.tma.load %a[%t, %c0] to %tile[%i0, %c0, %c0] signal %full_a[%i0] : !map, !ring, !full
          %i1 = arith.xori %i0, %c1 : i32
          %p1 = arith.xori %p0, %i0 : i32
          %of_heads:2 = scf.for %h = %c0 to %heads step %c1 iter_args(%j1 = %j0, %q1 = %q0) -> (i32, i32) : i32 {
            %of_steps:2 = scf.for %k = %c0 to %steps step %c1 iter_args(%j = %j1, %q = %q1) -> (i32, i32) : i32 {
              hopper.barrier.wait %empty_b[%j] parity %q : !empty
              hopper.barrier.expect_tx %full_b[%j], 8192 : !full
              hopper.tma.load %b[%k, %c0] to %step[%j, %c0, %c0] signal %full_b[%j] : !map, !ring, !full
              %jn = arith.xori %j, %c1 : i32
              %qn = arith.xori %q, %j : i32
              scf.yield %jn, %qn : i32, i32
            }
            scf.yield %of_steps#0, %of_steps#1 : i32, i32
          }
          scf.yield %i1, %p1, %of_heads#0, %of_heads#1 : i32, i32, i32, i32
        }
      }
      warp.group @math warps 4 replicas 2 at 4 (%g) {
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %x = arith.constant dense<1.0> : !p
        %replica = arith.index_cast %g : index to i32
        %id = arith.addi %replica, %c1 : i32
        %end:4 = scf.for %t = %c0 to %tiles step %c1 iter_args(%i0 = %c0, %p0 = %c0, %j0 = %c0, %q0 = %c0) -> (i32, i32, i32, i32) : i32 {
          hopper.barrier.wait %full_a[%i0] parity %p0 : !full
          %of_heads:2 = scf.for %h = %c0 to %heads step %c1 iter_args(%j1 = %j0, %q1 = %q0) -> (i32, i32) : i32 {
            %of_steps:2 = scf.for %k = %c0 to %steps step %c1 iter_args(%j = %j1, %q = %q1) -> (i32, i32) : i32 {
              hopper.barrier.wait %full_b[%j] parity %q : !full
              %da = hopper.desc %tile[%i0, %c0, %c0] : !ring -> !desc
              %db = hopper.desc %step[%j, %c0, %c0] : !ring -> !desc
              hopper.wgmma.fence
              %s = hopper.wgmma.mma %da, %db m 64 n 64 k 64 : !desc, !desc -> !hopper.inflight<!o>
              %group = hopper.wgmma.commit
              %sum = hopper.wgmma.wait %group inflight(%s : !hopper.inflight<!o>) pending 0
              hopper.barrier.arrive %empty_b[%j] : !empty
              %jn = arith.xori %j, %c1 : i32
              %qn = arith.xori %q, %j : i32
              scf.yield %jn, %qn : i32, i32
            }
            scf.yield %of_steps#0, %of_steps#1 : i32, i32
          }
          hopper.named_barrier.sync %id threads 128
          hopper.barrier.arrive %empty_a[%i0] : !empty
          %i1 = arith.xori %i0, %c1 : i32
          %p1 = arith.xori %p0, %i0 : i32
          scf.yield %i1, %p1, %of_heads#0, %of_heads#1 : i32, i32, i32, i32
        }
      }
    }
    gpu.return
  }
}
