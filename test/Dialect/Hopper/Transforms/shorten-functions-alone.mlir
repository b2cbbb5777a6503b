// The pass loads the dialects of what it makes: there is no vector operation here.
// RUN: fa3-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-shorten-functions)))" | FileCheck %s

#f = #hopper.fragment<[64, 32], reg = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// CHECK: vector.shuffle
// CHECK: hopper.warp_if_else
gpu.module @m {
  gpu.func @alone(%x: vector<16xf32>, %steps: i32) -> vector<2xf32> {
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %m0 = arith.constant dense<0.0> : vector<2xf32>
    %two = arith.constant dense<2.0> : vector<2xf32>
    %m, %s = scf.for %i = %z to %steps step %one iter_args(%old = %m0, %scaled = %m0) -> (vector<2xf32>, vector<2xf32>) : i32 {
      %y = math.tanh %x : vector<16xf32>
      %part = hopper.fragment.reduce max %y dim 1 of #f : vector<16xf32> -> vector<2xf32>
      %max = hopper.lane.reduce max %part over [0, 1] : vector<2xf32>
      %above = arith.subf %max, %old : vector<2xf32>
      %grown = arith.cmpf ogt, %above, %two : vector<2xf32>
      %new = arith.select %grown, %max, %old : vector<2xi1>, vector<2xf32>
      %any = hopper.vote.any %grown : vector<2xi1>
      %product = hopper.warp_if %any else %scaled : vector<2xf32> {
        %square = arith.mulf %scaled, %two : vector<2xf32>
        hopper.yield %square : vector<2xf32>
      }
      scf.yield %new, %product : vector<2xf32>, vector<2xf32>
    }
    gpu.return %s : vector<2xf32>
  }
}
