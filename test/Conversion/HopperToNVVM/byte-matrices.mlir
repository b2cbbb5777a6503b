// RUN: fa3-opt %s -convert-hopper-to-nvvm | FileCheck %s

// 8-bit fragments: rows to columns by ldmatrix.trans and stmatrix, four
// matrices of 8 rows of 16 bytes each.
#rows = #hopper.fragment<[32, 64], reg = [[0, 1], [1, 0], [8, 0], [0, 16], [0, 32]], lane = [[2, 0], [4, 0], [0, 2], [0, 4], [0, 8]], warp = [[16, 0]], repeat = []>
#columns = #hopper.fragment<[64, 32], reg = [[1, 0], [0, 1], [0, 2], [16, 0], [32, 0]], lane = [[0, 4], [0, 8], [2, 0], [4, 0], [8, 0]], warp = [[0, 16]], repeat = []>
#odd = #hopper.fragment<[64, 32], reg = [[1, 0], [0, 1], [0, 2], [16, 0], [32, 0]], lane = [[0, 8], [0, 4], [2, 0], [4, 0], [8, 0]], warp = [[0, 16]], repeat = []>
#operand = #hopper.fragment<[64, 32], reg = [[0, 1], [0, 2], [8, 0], [0, 16]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
#twice = #hopper.fragment<[64, 32], reg = [[0, 1], [0, 1], [1, 0], [16, 0], [32, 0]], lane = [[0, 4], [0, 8], [2, 0], [4, 0], [8, 0]], warp = [[0, 16]], repeat = []>

gpu.module @m {
  // Rows 0, 2, 4, .. 14 of 32 bytes would meet in half of the banks: the upper
  // four are those of the matrix beside, whose words lanes from 16 on exchange.
  // CHECK-LABEL: llvm.func @transpose
  // CHECK-COUNT-2: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
  // CHECK: %[[OTHER:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} : i32
  // CHECK: %[[EVEN:.*]] = arith.select %[[OTHER]], %c30001{{.*}}, %c25632{{.*}} : i32
  // CHECK: nvvm.prmt <default> %[[EVEN]], %[[A:.*]], %[[B:.*]] : i32
  // CHECK: %[[ODD:.*]] = arith.select %[[OTHER]], %c25632{{.*}}, %c30001{{.*}} : i32
  // CHECK: nvvm.prmt <default> %[[ODD]], %[[A]], %[[B]] : i32
  // CHECK-COUNT-6: nvvm.prmt
  // CHECK: arith.xori
  // CHECK-COUNT-2: stmatrix.sync.aligned.m8n8.x4.shared.b16
  // Lanes that hold other columns go element by element.
  // CHECK-NOT: stmatrix
  // CHECK: st.shared.b8
  gpu.func @transpose() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %a = hopper.smem.alloc offset 0 : !hopper.buffer<1, tensor<32x64xf8E4M3FN>, 64>
    %b = hopper.smem.alloc offset 2048 : !hopper.buffer<1, tensor<64x32xf8E4M3FN>, 32>
    warp.specialize {
      warp.group @convert warps 2 at 0 (%g) {
        %x = hopper.smem.load %a[%c0, %c0, %c0] of #rows : !hopper.buffer<1, tensor<32x64xf8E4M3FN>, 64> -> vector<32xf8E4M3FN>
        hopper.smem.store %x to %b[%c0, %c0, %c0] of #columns : vector<32xf8E4M3FN>, !hopper.buffer<1, tensor<64x32xf8E4M3FN>, 32>
        hopper.smem.store %x to %b[%c0, %c0, %c0] of #odd : vector<32xf8E4M3FN>, !hopper.buffer<1, tensor<64x32xf8E4M3FN>, 32>
      }
    }
    gpu.return
  }

  // A bit that is there twice, and one that is missing: no matrices.
  // CHECK-LABEL: llvm.func @twice
  // CHECK-NOT: stmatrix
  // CHECK: st.shared.b8
  gpu.func @twice() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %b = hopper.smem.alloc offset 2048 : !hopper.buffer<1, tensor<64x32xf8E4M3FN>, 32>
    warp.specialize {
      warp.group @convert warps 2 at 0 (%g) {
        %x = hopper.smem.load %b[%c0, %c0, %c0] of #twice : !hopper.buffer<1, tensor<64x32xf8E4M3FN>, 32> -> vector<32xf8E4M3FN>
        hopper.smem.store %x to %b[%c0, %c0, %c0] of #twice : vector<32xf8E4M3FN>, !hopper.buffer<1, tensor<64x32xf8E4M3FN>, 32>
      }
    }
    gpu.return
  }

  // Fragments of 8-bit elements go from iteration to iteration as words. Rows
  // one after the other have banks of their own.
  // CHECK-LABEL: llvm.func @carried
  // CHECK-NOT: nvvm.prmt
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (vector<4xi32>)
  // CHECK-NOT: nvvm.prmt
  // CHECK: stmatrix
  gpu.func @carried(%n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %b = hopper.smem.alloc offset 0 : !hopper.buffer<1, tensor<64x32xf8E4M3FN>, 32>
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
        %x = hopper.smem.load %b[%c0, %c0, %c0] of #operand : !hopper.buffer<1, tensor<64x32xf8E4M3FN>, 32> -> vector<16xf8E4M3FN>
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> (vector<16xf8E4M3FN>) : i32 {
          %z = vector.shuffle %y, %y [4, 5, 6, 7, 0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15] : vector<16xf8E4M3FN>, vector<16xf8E4M3FN>
          scf.yield %z : vector<16xf8E4M3FN>
        }
        hopper.smem.store %r to %b[%c0, %c0, %c0] of #operand : vector<16xf8E4M3FN>, !hopper.buffer<1, tensor<64x32xf8E4M3FN>, 32>
      }
    }
    gpu.return
  }
}
