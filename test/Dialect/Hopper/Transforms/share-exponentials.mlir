// RUN: fa3-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-share-exponentials{share=0.25})))" | FileCheck %s
// RUN: fa3-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-share-exponentials{share=0.25 degree=5})))" | FileCheck %s --check-prefix=QUINTIC
// RUN: fa3-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-share-exponentials)))" | FileCheck %s --check-prefix=NONE
// RUN: not fa3-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-share-exponentials{share=0.8})))" 2>&1 | FileCheck %s --check-prefix=SHARE
// RUN: not fa3-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-share-exponentials{degree=2})))" 2>&1 | FileCheck %s --check-prefix=DEGREE
// RUN: fa3-run --cpu %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-share-exponentials{share=0.75})))" --print out | FileCheck %s --check-prefix=VALUES

// Row 0 in lane 0: pairs of an exponential of the special-function unit and one
// by a polynomial.
// VALUES: [0]: 2 0 {{.*}} 4 nan {{.*}} 0.5 inf {{.*}} 1 11.3

// SHARE: error: option 'share' is 8.{{0+}}e-01, expected 0 to 7.5{{0+}}e-01
// DEGREE: error: option 'degree' is 2, expected 3 to 5

#f = #hopper.fragment<[64, 32], reg = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

gpu.module @m {
  gpu.func @values(%out: !llvm.ptr<1>) kernel {
    %z = arith.constant 0 : i32
    %m = arith.constant 64 : i32
    %n = arith.constant 32 : i32
    %s0 = arith.constant 32 : i64
    %s1 = arith.constant 1 : i64
    %x = arith.constant dense<[1.0, 0xFF800000, 0.0, 0.0, 2.0, 0x7FC00000, 0.0, 0.0, -1.0, 200.0, 0.0, 0.0, 0.0, 3.5, 0.0, 0.0]> : vector<16xf32>
    %y = math.exp2 %x fastmath<afn> : vector<16xf32>
    hopper.fragment.store %y, %out[%z, %z] strides(%s0, %s1) bounds(%m, %n) of #f : vector<16xf32>
    gpu.return
  }

  // Every fourth element by a polynomial, and back to its place.
  // CHECK-LABEL: gpu.func @large
  // CHECK-SAME: %[[X:.*]]: vector<16xf32>
  // CHECK: %[[OURS:.*]] = vector.shuffle %[[X]], %[[X]] [3, 7, 11, 15]
  // CHECK: %[[LOW:.*]] = arith.maximumf %[[OURS]]
  // CHECK: arith.minimumf %[[LOW]]
  // CHECK-COUNT-3: math.fma
  // CHECK-NOT: math.fma
  // CHECK: arith.shli
  // CHECK: %[[POLYNOMIAL:.*]] = arith.mulf {{.*}} : vector<4xf32>
  // CHECK: vector.shuffle %[[X]], %[[X]] [0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14]
  // CHECK: %[[REST:.*]] = math.exp2 {{.*}} fastmath<afn> : vector<12xf32>
  // CHECK: vector.shuffle %[[REST]], %[[POLYNOMIAL]] [0, 1, 2, 12, 3, 4, 5, 13, 6, 7, 8, 14, 9, 10, 11, 15]
  // QUINTIC-LABEL: gpu.func @large
  // QUINTIC-COUNT-5: math.fma
  // QUINTIC-NOT: math.fma
  // QUINTIC: gpu.return
  // NONE-LABEL: gpu.func @large
  // NONE-NOT: vector.shuffle
  // NONE: math.exp2 {{.*}} : vector<16xf32>
  gpu.func @large(%x: vector<16xf32>, %out: !llvm.ptr<1>, %z: i32, %s: i64) kernel {
    %y = math.exp2 %x fastmath<afn> : vector<16xf32>
    hopper.fragment.store %y, %out[%z, %z] strides(%s, %s) bounds(%z, %z) of #f : vector<16xf32>
    gpu.return
  }

  // Values of rows, and exponentials that must be exact, stay.
  // CHECK-LABEL: gpu.func @others
  // CHECK-NOT: vector.shuffle
  // CHECK: gpu.return
  gpu.func @others(%x: vector<4xf32>, %y: vector<16xf32>) -> (vector<4xf32>, vector<16xf32>) {
    %0 = math.exp2 %x fastmath<afn> : vector<4xf32>
    %1 = math.exp2 %y : vector<16xf32>
    gpu.return %0, %1 : vector<4xf32>, vector<16xf32>
  }
}

func.func @host(%out: memref<64x32xf32> {tile.name = "out"}) {
  %c1 = arith.constant 1 : index
  %p = hopper.address %out : memref<64x32xf32>
  hopper.launch @m::@values blocks %c1 threads 128 smem 0 args(%p : !llvm.ptr<1>)
  return
}
