// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm,canonicalize,cse))' | FileCheck %s

// What is rounded to an integer number and becomes an i32 is one instruction.
// Integers are added to memory one at a time, floats in pairs.

#f = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
gpu.module @m {
  // CHECK-LABEL: llvm.func @round
  // CHECK: %[[X:.*]]:4 = vector.to_elements
  // CHECK-NOT: roundeven
  // CHECK: %[[A:.*]] = llvm.call_intrinsic "llvm.nvvm.f2i.rn.ftz"(%[[X]]#0) : (f32) -> i32
  // CHECK: %[[B:.*]] = llvm.call_intrinsic "llvm.nvvm.f2i.rn.ftz"(%[[X]]#1) : (f32) -> i32
  // CHECK-NOT: fptosi
  // CHECK: llvm.inline_asm {{.*}}red.global.add.u32 [$0+0], $1;{{.*}} %[[A]]
  // CHECK: llvm.inline_asm {{.*}}red.global.add.u32 [$0+4], $1;{{.*}} %[[B]]
  gpu.func @round(%out: !llvm.ptr<1>, %n: i32, %stride: i64, %x: vector<4xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %whole = math.roundeven %x : vector<4xf32>
    %numbers = arith.fptosi %whole : vector<4xf32> to vector<4xi32>
    hopper.fragment.store %numbers, %out[%c0, %c0] strides(%stride, %one) bounds(%n, %n) of #f add : vector<4xi32>
    gpu.return
  }

  // Toward zero, and to another type.
  // CHECK-LABEL: llvm.func @others
  // CHECK-NOT: f2i
  // CHECK: arith.fptosi %{{.*}} : vector<4xf32> to vector<4xi32>
  // CHECK: roundeven
  // CHECK: arith.fptosi %{{.*}} : vector<4xf32> to vector<4xi8>
  gpu.func @others(%out: !llvm.ptr<1>, %bytes: !llvm.ptr<1>, %n: i32, %stride: i64, %x: vector<4xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %numbers = arith.fptosi %x : vector<4xf32> to vector<4xi32>
    hopper.fragment.store %numbers, %out[%c0, %c0] strides(%stride, %stride) bounds(%n, %n) of #f : vector<4xi32>
    %whole = math.roundeven %x : vector<4xf32>
    %short = arith.fptosi %whole : vector<4xf32> to vector<4xi8>
    hopper.fragment.store %short, %bytes[%c0, %c0] strides(%stride, %stride) bounds(%n, %n) of #f : vector<4xi8>
    gpu.return
  }
}
