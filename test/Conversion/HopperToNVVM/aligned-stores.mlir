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

  // Of 16 columns of 32 bits two lanes exchange two words of four: the even one
  // stores the left 8 columns of both, the odd one the right.
  // CHECK-LABEL: llvm.func @words
  // CHECK: arith.andi %{{.*}}, %c15{{.*}} : i64
  // CHECK: scf.if
  // CHECK-COUNT-2: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c1
  // CHECK: st.global.v4.b32 [$0+0], {$1, $2, $3, $4};
  // CHECK-COUNT-2: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c1
  // CHECK: st.global.v4.b32 [$0+0]
  // CHECK-NOT: nvvm.shfl.sync
  // CHECK: } else {
  // CHECK-COUNT-8: st.global.b32
  gpu.func @words(%x: vector<8xf32>, %out: !llvm.ptr<1>, %stride: i64, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %one = arith.constant 1 : i64
    hopper.fragment.store %x, %out[%c0, %c0] strides(%stride, %one) bounds(%n, %c64) of #f : vector<8xf32>
    gpu.return
  }

  // Loads as well. Both forms bring the same words, and lanes exchange them in
  // front of the first use, behind the loads of the other tile. All columns are
  // inside or none is: one comparison.
  // CHECK-LABEL: llvm.func @loads
  // CHECK: arith.muli %{{.*}}, %c16{{.*}} : i32
  // CHECK: arith.cmpi ult, %{{.*}}, %c64{{.*}} : i32
  // CHECK: scf.if
  // CHECK-COUNT-2: ld.global.v4.b32 {$0, $1, $2, $3}, [$4+0];
  // CHECK: } else {
  // CHECK-COUNT-8: ld.global.b32
  // CHECK-NOT: nvvm.shfl.sync
  // CHECK: scf.if
  // CHECK-COUNT-2: ld.global.v4.b32
  // CHECK: } else {
  // CHECK-COUNT-8: ld.global.b32
  // CHECK-COUNT-8: nvvm.shfl.sync bfly
  // CHECK-NOT: nvvm.shfl.sync
  // CHECK: arith.addf
  gpu.func @loads(%out: !llvm.ptr<1>, %a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %stride: i64, %n: i32, %m: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c16 = arith.constant 16 : i32
    %c64 = arith.constant 64 : i32
    %one = arith.constant 1 : i64
    %column = arith.muli %m, %c16 : i32
    %x = hopper.fragment.load %a[%c0, %column] strides(%stride, %one) bounds(%n, %c64) of #f : vector<8xf32>
    %y = hopper.fragment.load %b[%c0, %column] strides(%stride, %one) bounds(%n, %c64) of #f : vector<8xf32>
    %sum = arith.addf %x, %y : vector<8xf32>
    hopper.fragment.store %sum, %out[%c0, %column] strides(%stride, %one) bounds(%n, %c64) of #f : vector<8xf32>
    gpu.return
  }

  // Rows that may end inside of four columns are loaded one by one.
  // CHECK-LABEL: llvm.func @ends
  // CHECK-NOT: v4
  // CHECK-COUNT-8: ld.global.b32
  gpu.func @ends(%out: !llvm.ptr<1>, %a: !llvm.ptr<1>, %stride: i64, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %x = hopper.fragment.load %a[%c0, %c0] strides(%stride, %one) bounds(%n, %n) of #f : vector<8xf32>
    %neg = arith.negf %x : vector<8xf32>
    hopper.fragment.store %neg, %out[%c0, %c0] strides(%stride, %one) bounds(%n, %n) of #f : vector<8xf32>
    gpu.return
  }
}
