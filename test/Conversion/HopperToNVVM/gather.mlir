// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm,canonicalize,cse))' | FileCheck %s

#columns = #hopper.fragment<[32], reg = [[1], [8], [16]], lane = [[2], [4], [0], [0], [0]], warp = [[0], [0]], repeat = []>

// What all elements share is computed once; what is outside is not read.
gpu.module @m {
  // CHECK-LABEL: llvm.func @gather
  // CHECK: %[[BASE:.*]] = llvm.ptrtoint
  // CHECK: %[[ROW:.*]] = arith.cmpi ult
  // CHECK: arith.andi %[[ROW]], %{{.*}}
  // CHECK-COUNT-8: ld.global.b16
  // CHECK-NOT: ld.global
  // CHECK: llvm.return
  gpu.func @gather(%out: !llvm.ptr<1>, %p: !llvm.ptr<1>, %n: i32, %row: i32, %rows: i32, %stride: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %c3 = arith.constant dense<3> : vector<8xi32>
    %j = hopper.coord dim 0 offset %c0 of #columns : vector<8xi32>
    %at = arith.muli %j, %c3 : vector<8xi32>
    %x = hopper.gather %p[%row, %at : i32, vector<8xi32>] strides(%stride, %one) bounds(%rows, %n) : vector<8xf16>
    hopper.fragment.store %x, %out[%c0] strides(%stride) bounds(%n) of #columns : vector<8xf16>
    gpu.return
  }
}
