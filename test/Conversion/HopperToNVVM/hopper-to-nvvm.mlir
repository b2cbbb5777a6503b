// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm,canonicalize,cse))' | FileCheck %s

#part = #hopper.fragment<[64, 32], reg = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
!full = !hopper.barrier<2, 1>
!empty = !hopper.barrier<2, 2>
!buf = !hopper.buffer<2, tensor<64x64xf16>, 128>
!map = !hopper.tensormap<[64, 64], f16, 128>
!desc = !hopper.desc<64, f16, 128, k>
!frag = !hopper.inflight<vector<16xf32>>

// CHECK-LABEL: gpu.module @m
// CHECK: llvm.mlir.global external @dynamic_smem() {addr_space = 3 : i32, alignment = 1024 : i64}
gpu.module @m {
  // Thread 0 initializes the barriers; each warp finds out, from its number,
  // which group it is in; one thread of a group performs what groups do.
  // CHECK-LABEL: llvm.func @groups(
  // CHECK-SAME: !llvm.ptr {{{.*}}nvvm.grid_constant}
  // CHECK-SAME: nvvm.kernel
  // CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
  // CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx
  // CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[TID]]
  // CHECK: scf.if %[[FIRST]]
  // CHECK-COUNT-2: "mbarrier.init.shared::cta.b64 [$0], 1;"
  // CHECK-COUNT-2: "mbarrier.init.shared::cta.b64 [$0], 2;"
  // CHECK: "fence.mbarrier_init.release.cluster;"
  // CHECK: nvvm.barrier0
  // CHECK: %[[LOW:.*]] = arith.cmpi ult, %[[WARP]], %c4
  // CHECK: scf.if %[[LOW]]
  // CHECK: nvvm.setmaxregister decrease 24
  // CHECK: %[[ONE:.*]] = arith.cmpi ult, %[[WARP]], %c1
  // CHECK: scf.if %[[ONE]]
  // CHECK: %[[LEADER:.*]] = arith.cmpi eq
  // CHECK: "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], 8192;"
  // CHECK: "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$2, {$3, $4}], [$1];"
  // CHECK: } else {
  // CHECK: nvvm.setmaxregister increase 240
  // CHECK: mbarrier.try_wait.parity.shared::cta.b64
  // CHECK: "fence.acq_rel.cta;", "~{memory}"
  // CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"

  gpu.func @groups(%map: !map, %i: i32) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %full = hopper.barrier.alloc offset 16384 : !full
    %empty = hopper.barrier.alloc offset 16400 : !empty
    %buf = hopper.smem.alloc offset 0 : !buf
    hopper.barrier.init %full, %empty : !full, !empty
    gpu.barrier
    warp.specialize {
      warp.group @load warps 1 at 0 (%g) {
        hopper.setmaxnreg decrease 24
        %c0 = arith.constant 0 : i32
        hopper.barrier.expect_tx %full[%c0], 8192 : !full
        hopper.tma.load %map[%i, %c0] to %buf[%c0, %c0, %c0] signal %full[%c0] : !map, !buf, !full
      }
      warp.group @math warps 4 at 4 (%g) {
        hopper.setmaxnreg increase 240
        %c0 = arith.constant 0 : i32
        hopper.barrier.wait %full[%c0] parity %c0 : !full
        hopper.fence.acq_rel
        hopper.barrier.arrive %empty[%c0] : !empty
      }
    }
    gpu.return
  }

  // K of 64 elements are four instructions; the first of a product without an
  // accumulator ignores the registers, the others add. A wait for the group is
  // one for the groups younger than it.
  // CHECK-LABEL: llvm.func @product(
  // CHECK: "wgmma.fence.sync.aligned;"
  // CHECK: setp.ne.b32 p, 0, 0;{{.*}}wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16
  // CHECK-COUNT-3: setp.ne.b32 p, 1, 0;{{.*}}wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16
  // CHECK-NOT: wgmma.mma_async
  // CHECK: "wgmma.commit_group.sync.aligned;"
  // CHECK: wgmma.wait_group.sync.aligned 0;
  gpu.func @product(%out: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = hopper.smem.alloc offset 0 : !hopper.buffer<1, tensor<64x64xf16>, 128>
    %b = hopper.smem.alloc offset 8192 : !hopper.buffer<1, tensor<32x64xf16>, 128>
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
        %c0 = arith.constant 0 : i32
        %stride = arith.constant 32 : i64
        %one = arith.constant 1 : i64
        %rows = arith.constant 64 : i32
        %x = hopper.desc %a[%c0, %c0, %c0] : !hopper.buffer<1, tensor<64x64xf16>, 128> -> !desc
        %y = hopper.desc %b[%c0, %c0, %c0] : !hopper.buffer<1, tensor<32x64xf16>, 128> -> !hopper.desc<32, f16, 128, k>
        hopper.wgmma.fence
        %d = hopper.wgmma.mma %x, %y m 64 n 32 k 64 : !desc, !hopper.desc<32, f16, 128, k> -> !frag
        %h = hopper.wgmma.commit
        %v = hopper.wgmma.wait %h inflight(%d : !frag) pending 0
        hopper.fragment.store %v, %out[%c0, %c0] strides(%stride, %one) bounds(%rows, %rows) of #part : vector<16xf32>
      }
    }
    gpu.return
  }

  // Columns 48 to 95 begin 32 bytes into the second block of 32 columns, the
  // next step is the first of the third block: in units of 16 bytes, of which a
  // block has 128, at 130, 256 and 258.
  // CHECK-LABEL: llvm.func @in_block(
  // CHECK: %[[FIRST:.*]] = arith.addi %[[BASE:.*]], %c130_i64
  // CHECK: setp.ne.b32 p, 0, 0;{{.*}}wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16
  // CHECK-SAME: %[[FIRST]]
  // CHECK: %[[SECOND:.*]] = arith.addi %[[BASE]], %c256_i64
  // CHECK: setp.ne.b32 p, 1, 0;{{.*}}wgmma.mma_async
  // CHECK-SAME: %[[SECOND]]
  // CHECK: %[[THIRD:.*]] = arith.addi %[[BASE]], %c258_i64
  // CHECK: setp.ne.b32 p, 1, 0;{{.*}}wgmma.mma_async
  // CHECK-SAME: %[[THIRD]]
  // CHECK-NOT: wgmma.mma_async
  gpu.func @in_block(%out: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = hopper.smem.alloc offset 0 : !hopper.buffer<1, tensor<64x48xf16>, 32>
    %b = hopper.smem.alloc offset 8192 : !hopper.buffer<1, tensor<32x96xf16>, 64>
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
        %c0 = arith.constant 0 : i32
        %c48 = arith.constant 48 : i32
        %stride = arith.constant 32 : i64
        %one = arith.constant 1 : i64
        %rows = arith.constant 64 : i32
        %x = hopper.desc %a[%c0, %c0, %c0] : !hopper.buffer<1, tensor<64x48xf16>, 32> -> !hopper.desc<64, f16, 32, k>
        %y = hopper.desc %b[%c0, %c0, %c48] : !hopper.buffer<1, tensor<32x96xf16>, 64> -> !hopper.desc<32, f16, 64, k>
        hopper.wgmma.fence
        %d = hopper.wgmma.mma %x, %y m 64 n 32 k 48 : !hopper.desc<64, f16, 32, k>, !hopper.desc<32, f16, 64, k> -> !frag
        %h = hopper.wgmma.commit
        %v = hopper.wgmma.wait %h inflight(%d : !frag) pending 0
        hopper.fragment.store %v, %out[%c0, %c0] strides(%stride, %one) bounds(%rows, %rows) of #part : vector<16xf32>
      }
    }
    gpu.return
  }
}
