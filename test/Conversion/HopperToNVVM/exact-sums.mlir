// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm,canonicalize,cse))' | FileCheck %s

#acc = #hopper.fragment<[64, 16], reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
#rows = #hopper.fragment<[64], reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], [32]], repeat = []>

gpu.module @m {
  // Three blocks of both columns of a pair move; of four blocks of diagonals each
  // lane of a row gets one.
  // CHECK-LABEL: llvm.func @add
  // CHECK-COUNT-6: nvvm.shfl.sync idx
  // CHECK-COUNT-3: nvvm.shfl.sync bfly
  // CHECK-NOT: nvvm.shfl
  // CHECK: arith.cmpi ult
  // CHECK: red.global.add.u64
  // CHECK-NOT: red.global
  gpu.func @add(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %n: i32, %stride: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %x = hopper.fragment.load %p[%c0, %c0] strides(%stride, %one) bounds(%n, %n) of #acc : vector<8xf32>
    %d = hopper.diagonal.reduce add %x of #acc : vector<8xf32> -> vector<1xf32>
    hopper.add_exact %d, %q[%n : i32] strides(%stride) bounds(%n) : vector<1xf32>
    gpu.return
  }

  // Words from the greatest on, then that of what is no number, for both rows.
  // CHECK-LABEL: llvm.func @load
  // CHECK-COUNT-64: ld.global.b64
  // CHECK-NOT: ld.global
  gpu.func @load(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %n: i32, %stride: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %x = hopper.load_exact %q[%c0] strides(%stride) bounds(%n) of #rows : vector<2xf32>
    hopper.fragment.store %x, %p[%c0] strides(%one) bounds(%n) of #rows : vector<2xf32>
    gpu.return
  }
}
