// RUN: fa3-opt %s -convert-hopper-to-nvvm | FileCheck %s

// Lanes of eight bytes in the accumulator's layout: rows 2i and 2i + 1 of 128
// bytes meet in their banks. Lanes of odd rows (bit 2) store the run 64 bytes
// further, and that one the other's.
#wide = #hopper.fragment<[64, 32], reg = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
#narrow = #hopper.fragment<[64, 16], reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

gpu.module @m {
  // CHECK-LABEL: llvm.func @wide
  // CHECK: %[[X:.*]]:16 = vector.to_elements
  // CHECK: arith.shrui %[[LANE:.*]], %c2_i32
  // CHECK: arith.muli %{{.*}}, %c64_i32
  // CHECK: %[[BIT:.*]] = arith.andi %[[LANE]], %c4_i32
  // CHECK: %[[ODD:.*]] = arith.cmpi ne, %[[BIT]], %c0_i32
  // CHECK: %[[A0:.*]] = arith.select %[[ODD]], %[[X]]#8, %[[X]]#0 : i32
  // CHECK: %[[B0:.*]] = arith.select %[[ODD]], %[[X]]#0, %[[X]]#8 : i32
  // CHECK: %[[A1:.*]] = arith.select %[[ODD]], %[[X]]#9, %[[X]]#1 : i32
  // CHECK: %[[B1:.*]] = arith.select %[[ODD]], %[[X]]#1, %[[X]]#9 : i32
  // CHECK: st.shared.v2.b32{{.*}} %[[A0]], %[[A1]]
  // CHECK-COUNT-3: st.shared.v2.b32
  // CHECK: st.shared.v2.b32{{.*}} %[[B0]], %[[B1]]
  gpu.func @wide(%x: vector<16xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %b = hopper.smem.alloc offset 0 : !hopper.buffer<1, tensor<64x32xf32>, 128>
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
        %y = arith.addf %x, %x : vector<16xf32>
        hopper.smem.store %y to %b[%c0, %c0, %c0] of #wide : vector<16xf32>, !hopper.buffer<1, tensor<64x32xf32>, 128>
      }
    }
    gpu.return
  }

  // Blocks of 64 bytes have rows in other halves of the banks; of 16 columns
  // none is 64 bytes away.
  // CHECK-LABEL: llvm.func @narrow
  // CHECK-NOT: arith.select
  // CHECK-COUNT-4: st.shared.v2.b32
  // CHECK-NOT: arith.select
  // CHECK-COUNT-4: st.shared.v2.b32
  gpu.func @narrow(%x: vector<8xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %b = hopper.smem.alloc offset 0 : !hopper.buffer<1, tensor<64x16xf32>, 64>
    %d = hopper.smem.alloc offset 8192 : !hopper.buffer<1, tensor<64x32xf32>, 128>
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
        hopper.smem.store %x to %b[%c0, %c0, %c0] of #narrow : vector<8xf32>, !hopper.buffer<1, tensor<64x16xf32>, 64>
        hopper.smem.store %x to %d[%c0, %c0, %c0] of #narrow : vector<8xf32>, !hopper.buffer<1, tensor<64x32xf32>, 128>
      }
    }
    gpu.return
  }
}
