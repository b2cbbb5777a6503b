// CTAs add integers whose sum overflows on the way: 2^30 four times, and 5 - 2^30
// as often. It is 20 in every order, of bulk copies and of threads.

// DEFINE: %{print} = --fill sum=0 --fill column=0 --print sum --print column
// DEFINE: %{ptx} = fa3-run --executor=ptx %s %{print}
// RUN: fa3-run --cpu %s --pass-pipeline='builtin.module(fa3-tile)' %{print} | FileCheck %s
// RUN: fa3-run --cpu %s --require-fences --pass-pipeline='builtin.module(fa3-tile,fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' --completion random %{print} | FileCheck %s
// RUN: %{ptx} --sms 1 | FileCheck %s
// RUN: %{ptx} --sms 3 --schedule-seed 1 | FileCheck %s
// RUN: %{ptx} --sms 8 --schedule-seed 2 | FileCheck %s
// CHECK: sum: 64x64xi32
// CHECK-NEXT: [0]: 20 20 20 20
// CHECK: [63]: 20 20 20 20
// CHECK: column: 64xi32
// CHECK: 20 20 20 20

// RUN: fa3-translate --mlir-to-ptx %s --pass-pipeline="builtin.module(fa3-lower-to-nvvm-pipeline)" -o - | FileCheck %s --check-prefix=PTX
// PTX-LABEL: .entry add(
// PTX-DAG: cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group
// PTX-DAG: red.global.add.u32

gpu.module @m {
  gpu.func @start(%sum: memref<64x64xi32>, %column: memref<64xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    tile.grid (%i) in (%c1) {
      %zero = arith.constant dense<0> : tensor<64x64xi32>
      tile.store %zero, %sum[%c0, %c0] : tensor<64x64xi32>, memref<64x64xi32>
      %none = arith.constant dense<0> : tensor<64xi32>
      tile.store %none, %column[%c0] : tensor<64xi32>, memref<64xi32>
    }
    gpu.return
  }

  gpu.func @add(%sum: memref<64x64xi32>, %column: memref<64xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    tile.grid (%n) in (%c8) {
      %large = arith.constant 1073741824 : i32
      %small = arith.constant -1073741819 : i32
      %is_early = arith.cmpi ult, %n, %c4 : index
      %term = arith.select %is_early, %large, %small : i32
      %x = tensor.splat %term : tensor<64x64xi32>
      tile.store %x, %sum[%c0, %c0] add : tensor<64x64xi32>, memref<64x64xi32>
      %y = tensor.splat %term : tensor<64xi32>
      tile.store %y, %column[%c0] add : tensor<64xi32>, memref<64xi32>
    }
    gpu.return
  }
}

func.func @f(%sum: memref<64x64xi32> {tile.name = "sum"}, %column: memref<64xi32> {tile.name = "column"}) {
  tile.launch @m::@start args(%sum, %column : memref<64x64xi32>, memref<64xi32>)
  tile.launch @m::@add args(%sum, %column : memref<64x64xi32>, memref<64xi32>)
  return
}
