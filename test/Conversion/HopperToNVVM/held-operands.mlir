// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm,canonicalize,cse))' | FileCheck %s
// RUN: fa3-translate %s --mlir-to-ptx --pass-pipeline='builtin.module(fa3-hopper-to-llvm)' | FileCheck %s --check-prefix=PTX

// A product that reads registers which its loop does not change, and that is
// awaited before another one with registers is issued: the loop writes them
// anew, since ptxas (13.0) may give them to the other one. Each of the eight
// registers has an instruction of its own. Where the other product is issued
// first, and where there is none, they stay as they are.

#left = #hopper.fragment<[64, 32], reg = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
!a = !hopper.buffer<1, tensor<64x32xf16>, 64>
!b = !hopper.buffer<4, tensor<32x32xf16>, 64>
!rhs = !hopper.desc<32, f16, 64, k>
!frag = !hopper.inflight<vector<16xf32>>
gpu.module @m {
  // CHECK-LABEL: llvm.func @awaited(
  // CHECK: %[[HELD:.*]] = llvm.alloca %{{.*}} x vector<8xi32>
  // CHECK: llvm.store %{{.*}}, %[[HELD]]
  // CHECK: scf.for
  // CHECK: llvm.load %[[HELD]]
  // CHECK: wgmma.mma_async
  // CHECK: %[[BITS:.*]] = llvm.load %[[HELD]]
  // CHECK: %[[ANEW:.*]] = arith.xori %[[BITS]], %{{.*}} : vector<8xi32>
  // CHECK: llvm.store %[[ANEW]], %[[HELD]]
  // CHECK: wgmma.mma_async
  // PTX-LABEL: .entry awaited(
  // PTX-NOT: .local
  // PTX-COUNT-8: xor.b32 {{.*}}%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}};
  // PTX-LABEL: .entry together(
  gpu.func @awaited(%n: i32, %out: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = hopper.smem.alloc offset 0 : !a
    %b = hopper.smem.alloc offset 4096 : !b
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %stride = arith.constant 32 : i64
        %one = arith.constant 1 : i64
        %rows = arith.constant 64 : i32
        %held = hopper.smem.load %a[%c0, %c0, %c0] of #left : !a -> vector<16xf16>
        scf.for %t = %c0 to %n step %c1 : i32 {
          %z = hopper.desc %b[%t, %c0, %c0] : !b -> !rhs
          hopper.wgmma.fence
          %d = hopper.wgmma.mma %held, %z m 64 n 32 k 32 : vector<16xf16>, !rhs -> !frag
          %h = hopper.wgmma.commit
          %v = hopper.wgmma.wait %h inflight(%d : !frag) pending 0
          %x = arith.truncf %v : vector<16xf32> to vector<16xf16>
          hopper.wgmma.fence
          %e = hopper.wgmma.mma %x, %z m 64 n 32 k 32 : vector<16xf16>, !rhs -> !frag
          %i = hopper.wgmma.commit
          %w = hopper.wgmma.wait %i inflight(%e : !frag) pending 0
          hopper.fragment.store %w, %out[%c0, %c0] strides(%stride, %one) bounds(%rows, %rows) of #left : vector<16xf32>
        }
      }
    }
    gpu.return
  }

  // CHECK-LABEL: llvm.func @together(
  // CHECK-NOT: llvm.alloca
  // CHECK-NOT: arith.xori {{.*}} : vector
  // CHECK: llvm.return
  gpu.func @together(%n: i32, %out: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = hopper.smem.alloc offset 0 : !a
    %b = hopper.smem.alloc offset 4096 : !b
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %stride = arith.constant 32 : i64
        %one = arith.constant 1 : i64
        %rows = arith.constant 64 : i32
        %held = hopper.smem.load %a[%c0, %c0, %c0] of #left : !a -> vector<16xf16>
        scf.for %t = %c0 to %n step %c1 : i32 {
          %z = hopper.desc %b[%t, %c0, %c0] : !b -> !rhs
          %x = hopper.smem.load %a[%c0, %c0, %c0] of #left : !a -> vector<16xf16>
          hopper.wgmma.fence
          %d = hopper.wgmma.mma %held, %z m 64 n 32 k 32 : vector<16xf16>, !rhs -> !frag
          %h = hopper.wgmma.commit
          %e = hopper.wgmma.mma %x, %z m 64 n 32 k 32 : vector<16xf16>, !rhs -> !frag
          %i = hopper.wgmma.commit
          %v:2 = hopper.wgmma.wait %i inflight(%d, %e : !frag, !frag) pending 0
          hopper.fragment.store %v#0, %out[%c0, %c0] strides(%stride, %one) bounds(%rows, %rows) of #left : vector<16xf32>
          hopper.fragment.store %v#1, %out[%c0, %c0] strides(%stride, %one) bounds(%rows, %rows) of #left : vector<16xf32>
        }
      }
    }
    gpu.return
  }
}
