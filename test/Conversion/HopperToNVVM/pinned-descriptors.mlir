// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm,canonicalize,cse))' | FileCheck %s

// Descriptors of a product both of whose operands stay while its loop runs would
// be hoisted out of it, two for every step of 32 bytes. They are made to change
// with one that does, of the product before, by a bit of it that is always 0. So
// many that uniform registers hold them are left to be hoisted.

#part = #hopper.fragment<[64, 32], reg = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
!a = !hopper.buffer<1, tensor<64x128xf16>, 128>
!b = !hopper.buffer<1, tensor<32x128xf16>, 128>
!c = !hopper.buffer<4, tensor<32x64xf16>, 128>
!lhs = !hopper.desc<64, f16, 128, k>
!rhs = !hopper.desc<32, f16, 128, k>
!frag = !hopper.inflight<vector<16xf32>>
gpu.module @m {
  // CHECK-LABEL: llvm.func @eight_steps(
  // CHECK: scf.for
  // CHECK: %[[CHANGING:.*]] = arith.addi %{{.*}}, %{{.*}} : i64
  // CHECK: wgmma.mma_async{{.*}}, %[[CHANGING]]
  // CHECK: "wgmma.commit_group.sync.aligned;"
  // CHECK: %[[HIGH:.*]] = arith.shli %[[CHANGING]], %c49_i64
  // CHECK: %[[ZERO:.*]] = arith.shrui %[[HIGH]], %c63_i64
  // CHECK: %[[LHS:.*]] = arith.addi %{{.*}}, %[[ZERO]]
  // CHECK: %[[RHS:.*]] = arith.addi %{{.*}}, %[[ZERO]]
  // CHECK: wgmma.mma_async{{.*}} %[[LHS]], %[[RHS]]
  // CHECK: "wgmma.commit_group.sync.aligned;"
  gpu.func @eight_steps(%n: i32, %out: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = hopper.smem.alloc offset 0 : !a
    %b = hopper.smem.alloc offset 16384 : !b
    %c = hopper.smem.alloc offset 24576 : !c
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %stride = arith.constant 32 : i64
        %one = arith.constant 1 : i64
        %rows = arith.constant 64 : i32
        scf.for %t = %c0 to %n step %c1 : i32 {
          %x = hopper.desc %a[%c0, %c0, %c0] : !a -> !lhs
          %y = hopper.desc %b[%c0, %c0, %c0] : !b -> !rhs
          %z = hopper.desc %c[%t, %c0, %c0] : !c -> !rhs
          hopper.wgmma.fence
          %d = hopper.wgmma.mma %x, %z m 64 n 32 k 64 : !lhs, !rhs -> !frag
          %h = hopper.wgmma.commit
          %e = hopper.wgmma.mma %x, %y m 64 n 32 k 128 : !lhs, !rhs -> !frag
          %i = hopper.wgmma.commit
          %v:2 = hopper.wgmma.wait %i inflight(%d, %e : !frag, !frag) pending 0
          hopper.fragment.store %v#0, %out[%c0, %c0] strides(%stride, %one) bounds(%rows, %rows) of #part : vector<16xf32>
          hopper.fragment.store %v#1, %out[%c0, %c0] strides(%stride, %one) bounds(%rows, %rows) of #part : vector<16xf32>
        }
      }
    }
    gpu.return
  }

  // CHECK-LABEL: llvm.func @four_steps(
  // CHECK-NOT: arith.shrui {{.*}}%c63_i64
  // CHECK: llvm.return
  gpu.func @four_steps(%n: i32, %out: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = hopper.smem.alloc offset 0 : !a
    %b = hopper.smem.alloc offset 16384 : !b
    %c = hopper.smem.alloc offset 24576 : !c
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %stride = arith.constant 32 : i64
        %one = arith.constant 1 : i64
        %rows = arith.constant 64 : i32
        scf.for %t = %c0 to %n step %c1 : i32 {
          %x = hopper.desc %a[%c0, %c0, %c0] : !a -> !lhs
          %y = hopper.desc %b[%c0, %c0, %c0] : !b -> !rhs
          %z = hopper.desc %c[%t, %c0, %c0] : !c -> !rhs
          hopper.wgmma.fence
          %d = hopper.wgmma.mma %x, %z m 64 n 32 k 64 : !lhs, !rhs -> !frag
          %h = hopper.wgmma.commit
          %e = hopper.wgmma.mma %x, %y m 64 n 32 k 64 : !lhs, !rhs -> !frag
          %i = hopper.wgmma.commit
          %v:2 = hopper.wgmma.wait %i inflight(%d, %e : !frag, !frag) pending 0
          hopper.fragment.store %v#0, %out[%c0, %c0] strides(%stride, %one) bounds(%rows, %rows) of #part : vector<16xf32>
          hopper.fragment.store %v#1, %out[%c0, %c0] strides(%stride, %one) bounds(%rows, %rows) of #part : vector<16xf32>
        }
      }
    }
    gpu.return
  }

  // Beside the windows of five buffers their addresses would have to stay: all are
  // counted from where shared memory starts.
  // CHECK-LABEL: llvm.func @five_buffers(
  // CHECK: %[[START:.*]] = arith.shrui %{{.*}}, %c4_i32 : i32
  // CHECK-COUNT-5: arith.addi %[[START]], %{{.*}} : i32
  // CHECK: scf.for
  // CHECK: arith.extui %{{.*}} : i32 to i64
  // CHECK: arith.ori %{{.*}}, %{{.*}} : i64
  // CHECK: llvm.return
  gpu.func @five_buffers(%n: i32, %out: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = hopper.smem.alloc offset 0 : !a
    %b = hopper.smem.alloc offset 16384 : !b
    %c = hopper.smem.alloc offset 24576 : !c
    %d = hopper.smem.alloc offset 40960 : !c
    %e = hopper.smem.alloc offset 57344 : !c
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %stride = arith.constant 32 : i64
        %one = arith.constant 1 : i64
        %rows = arith.constant 64 : i32
        %x0 = hopper.desc %a[%c0, %c0, %c0] : !a -> !lhs
        %y0 = hopper.desc %b[%c0, %c0, %c0] : !b -> !rhs
        hopper.wgmma.fence
        %p = hopper.wgmma.mma %x0, %y0 m 64 n 32 k 128 : !lhs, !rhs -> !frag
        %q = hopper.wgmma.commit
        %r = hopper.wgmma.wait %q inflight(%p : !frag) pending 0
        hopper.fragment.store %r, %out[%c0, %c0] strides(%stride, %one) bounds(%rows, %rows) of #part : vector<16xf32>
        scf.for %t = %c0 to %n step %c1 : i32 {
          %x = hopper.desc %a[%c0, %c0, %c0] : !a -> !lhs
          %y = hopper.desc %b[%c0, %c0, %c0] : !b -> !rhs
          %z0 = hopper.desc %c[%t, %c0, %c0] : !c -> !rhs
          %z1 = hopper.desc %d[%t, %c0, %c0] : !c -> !rhs
          %z2 = hopper.desc %e[%t, %c0, %c0] : !c -> !rhs
          hopper.wgmma.fence
          %s0 = hopper.wgmma.mma %x, %z0 m 64 n 32 k 64 : !lhs, !rhs -> !frag
          %s1 = hopper.wgmma.mma %x, %z1 acc %s0 : !frag m 64 n 32 k 64 : !lhs, !rhs -> !frag
          %s2 = hopper.wgmma.mma %x, %z2 acc %s1 : !frag m 64 n 32 k 64 : !lhs, !rhs -> !frag
          %h = hopper.wgmma.commit
          %s3 = hopper.wgmma.mma %x, %y m 64 n 32 k 128 : !lhs, !rhs -> !frag
          %i = hopper.wgmma.commit
          %v:2 = hopper.wgmma.wait %i inflight(%s2, %s3 : !frag, !frag) pending 0
          hopper.fragment.store %v#0, %out[%c0, %c0] strides(%stride, %one) bounds(%rows, %rows) of #part : vector<16xf32>
          hopper.fragment.store %v#1, %out[%c0, %c0] strides(%stride, %one) bounds(%rows, %rows) of #part : vector<16xf32>
        }
      }
    }
    gpu.return
  }
}
