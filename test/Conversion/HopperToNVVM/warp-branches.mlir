// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm,canonicalize,cse))' | FileCheck %s

#f = #hopper.fragment<[64, 16], reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
#three = #hopper.fragment<[64, 12], reg = [[8, 0]], lane = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [[1, 4, 3]]>
gpu.module @m {
  // CHECK-LABEL: llvm.func @either
  // CHECK: %[[ANY:.*]] = nvvm.vote.sync any
  // CHECK: %[[X:.*]] = scf.if %[[ANY]] -> (vector<8xf32>) {
  // CHECK: %[[SUM:.*]] = arith.addf
  // CHECK: scf.yield %[[SUM]]
  // CHECK: } else {
  // CHECK: %[[PRODUCT:.*]] = arith.mulf
  // CHECK: scf.yield %[[PRODUCT]]
  gpu.func @either(%out: !llvm.ptr<1>, %n: i32, %stride: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %j = hopper.coord dim 0 offset %c0 of #f : vector<8xi32>
    %x = arith.sitofp %j : vector<8xi32> to vector<8xf32>
    %ns = vector.broadcast %n : i32 to vector<8xi32>
    %less = arith.cmpi slt, %j, %ns : vector<8xi32>
    %any = hopper.vote.any %less : vector<8xi1>
    %y = hopper.warp_if_else %any : vector<8xf32> {
      %sum = arith.addf %x, %x : vector<8xf32>
      hopper.yield %sum : vector<8xf32>
    } else {
      %product = arith.mulf %x, %x : vector<8xf32>
      hopper.yield %product : vector<8xf32>
    }
    hopper.fragment.store %y, %out[%c0, %c0] strides(%stride, %stride) bounds(%n, %n) of #f : vector<8xf32>
    gpu.return
  }

  // Of absolute values pairs are compared as floats, what is left as integers.
  // CHECK-LABEL: llvm.func @magnitudes
  // CHECK: math.absf
  // CHECK: %[[A:.*]] = arith.maxnumf {{.*}} : f32
  // CHECK: %[[AI:.*]] = arith.bitcast %[[A]] : f32 to i32
  // CHECK: %[[BI:.*]] = arith.bitcast %{{.*}} : f32 to i32
  // CHECK: %[[ROW:.*]] = arith.maxsi %[[AI]], %[[BI]]
  // CHECK: arith.bitcast %[[ROW]] : i32 to f32
  // CHECK: %[[C:.*]] = arith.maxnumf {{.*}} : f32
  // CHECK: arith.bitcast %[[C]] : f32 to i32
  gpu.func @magnitudes(%out: !llvm.ptr<1>, %n: i32, %stride: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %j = hopper.coord dim 1 offset %n of #three : vector<6xi32>
    %x = arith.sitofp %j : vector<6xi32> to vector<6xf32>
    %size = math.absf %x : vector<6xf32>
    %m = hopper.fragment.reduce max %size dim 1 of #three : vector<6xf32> -> vector<2xf32>
    %y = vector.shuffle %m, %m [0, 1, 0, 1, 0, 1] : vector<2xf32>, vector<2xf32>
    hopper.fragment.store %y, %out[%c0, %c0] strides(%stride, %stride) bounds(%n, %n) of #three : vector<6xf32>
    gpu.return
  }
}
