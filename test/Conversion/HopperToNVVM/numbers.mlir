// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm,canonicalize,cse))' | FileCheck %s

// Coordinates as numbers: 8 columns of a thread are a base and 0, 1, 8, 9, ...

#columns = #hopper.fragment<[32], reg = [[1], [8], [16]], lane = [[2], [4], [0], [0], [0]], warp = [[0], [0]], repeat = []>
gpu.module @m {
  // One conversion, then an addition of constants.
  // CHECK-LABEL: llvm.func @sum
  // CHECK: %[[C:.*]] = arith.constant dense<[0.000000e+00, 1.000000e+00, 8.000000e+00, 9.000000e+00, 1.600000e+01, 1.700000e+01, 2.400000e+01, 2.500000e+01]> : vector<8xf32>
  // CHECK: %[[BASE:.*]] = arith.sitofp %{{.*}} : i32 to f32
  // CHECK: %[[BASES:.*]] = vector.broadcast %[[BASE]]
  // CHECK: arith.addf %[[BASES]], %[[C]] : vector<8xf32>
  // CHECK-NOT: sitofp
  gpu.func @sum(%out: !llvm.ptr<1>, %n: i32, %stride: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %j = hopper.coord dim 0 offset %c0 of #columns : vector<8xi32>
    %x = arith.sitofp %j : vector<8xi32> to vector<8xf32>
    hopper.fragment.store %x, %out[%c0] strides(%stride) bounds(%n) of #columns : vector<8xf32>
    gpu.return
  }

  // factor * (coordinate + shift) - other: the flags allow one product of
  // constants, which everything else joins.
  // CHECK-LABEL: llvm.func @multiple
  // CHECK: %[[C:.*]] = arith.constant dense<[0.000000e+00, 1.000000e+00, 8.000000e+00,
  // CHECK: %[[F:.*]] = vector.broadcast %{{.*}} : f32 to vector<8xf32>
  // CHECK: llvm.intr.fma(%[[C]], %[[F]], %{{.*}})
  // CHECK-NOT: arith{{.*}} : vector<8xf32>
  // CHECK: llvm.return
  gpu.func @multiple(%out: !llvm.ptr<1>, %n: i32, %stride: i64, %factor: f32, %shift: f32, %other: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %j = hopper.coord dim 0 offset %c0 of #columns : vector<8xi32>
    %x = arith.sitofp %j : vector<8xi32> to vector<8xf32>
    %shifts = vector.broadcast %shift : f32 to vector<8xf32>
    %shifted = arith.addf %x, %shifts fastmath<reassoc> : vector<8xf32>
    %factors = vector.broadcast %factor : f32 to vector<8xf32>
    %product = arith.mulf %factors, %shifted fastmath<reassoc> : vector<8xf32>
    %others = vector.broadcast %other : f32 to vector<8xf32>
    %r = arith.subf %product, %others fastmath<reassoc> : vector<8xf32>
    hopper.fragment.store %r, %out[%c0] strides(%stride) bounds(%n) of #columns : vector<8xf32>
    gpu.return
  }

  // Nobody allows another order, and of an offset that is no constant nobody
  // knows whether the sum is exact.
  // CHECK-LABEL: llvm.func @stays
  // CHECK: arith.sitofp %{{.*}} : vector<8xi32> to vector<8xf32>
  // CHECK: arith.mulf {{.*}} : vector<8xf32>
  // CHECK: llvm.return
  gpu.func @stays(%out: !llvm.ptr<1>, %n: i32, %stride: i64, %factor: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %j = hopper.coord dim 0 offset %n of #columns : vector<8xi32>
    %x = arith.sitofp %j : vector<8xi32> to vector<8xf32>
    %factors = vector.broadcast %factor : f32 to vector<8xf32>
    %product = arith.mulf %factors, %x : vector<8xf32>
    hopper.fragment.store %product, %out[%c0] strides(%stride) bounds(%n) of #columns : vector<8xf32>
    gpu.return
  }
}
