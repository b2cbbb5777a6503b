// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm,canonicalize,cse))' | FileCheck %s

// Pairs of 16-bit elements are stored as one word where pointer and strides are
// seen to allow it when the kernel runs; and columns that lie inside of the
// array whatever the thread are not compared with its extent.

#f = #hopper.fragment<[64, 16], reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
#wide = #hopper.fragment<[64, 32], reg = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
gpu.module @m {
  // CHECK-LABEL: llvm.func @rows
  // CHECK: %[[ADDRESS:.*]] = llvm.ptrtoint
  // CHECK: %[[LOW:.*]] = arith.andi %{{.*}}, %c3{{.*}} : i64
  // CHECK: %[[ALIGNED:.*]] = arith.cmpi eq, %[[LOW]], %c0{{.*}} : i64
  // CHECK-COUNT-2: arith.cmpi ult
  // CHECK-NOT: arith.cmpi
  // CHECK: scf.if %[[ALIGNED]]
  // CHECK-COUNT-4: st.global.b32
  // CHECK-NOT: st.global.b16
  // CHECK: } else {
  // CHECK-COUNT-8: st.global.b16
  // CHECK-NOT: st.global
  gpu.func @rows(%x: vector<8xf16>, %out: !llvm.ptr<1>, %stride: i64, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c16 = arith.constant 16 : i32
    %one = arith.constant 1 : i64
    hopper.fragment.store %x, %out[%c0, %c0] strides(%stride, %one) bounds(%n, %c16) of #f : vector<8xf16>
    gpu.return
  }

  // Of 32 columns four words of four lanes are exchanged: 16 bytes a store.
  // CHECK-LABEL: llvm.func @quads
  // CHECK: arith.andi %{{.*}}, %c15{{.*}} : i64
  // CHECK: scf.if
  // CHECK: arith.select
  // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c1
  // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c1
  // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c2
  // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c2
  // CHECK: st.global.v4.b32 [$0+0], {$1, $2, $3, $4};
  // CHECK-COUNT-4: nvvm.shfl.sync
  // CHECK: st.global.v4.b32
  // CHECK-NOT: nvvm.shfl.sync
  // CHECK: } else {
  // CHECK-COUNT-16: st.global.b16
  gpu.func @quads(%x: vector<16xf16>, %out: !llvm.ptr<1>, %stride: i64, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %one = arith.constant 1 : i64
    hopper.fragment.store %x, %out[%c0, %c0] strides(%stride, %one) bounds(%n, %c64) of #wide : vector<16xf16>
    gpu.return
  }
}
