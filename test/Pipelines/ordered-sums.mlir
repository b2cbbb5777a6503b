// CTAs add numbers whose sum depends on the order of its terms: 1e8, 1, -1e8, 1 and
// again. In the order of the line it is 1, whatever CTAs run at once. The first ones
// compute longest before they add.

// DEFINE: %{ptx} = fa3-run --executor=ptx %s --print sum
// RUN: fa3-run --cpu %s --pass-pipeline='builtin.module(fa3-tile)' --print sum | FileCheck %s
// RUN: fa3-run --cpu %s --require-fences --pass-pipeline='builtin.module(fa3-tile,fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' --completion random --print sum | FileCheck %s
// RUN: %{ptx} --sms 1 | FileCheck %s
// RUN: %{ptx} --sms 3 --schedule-seed 1 | FileCheck %s
// RUN: %{ptx} --sms 8 --schedule-seed 2 | FileCheck %s
// CHECK: sum: 64x64xf32
// CHECK-NEXT: [0]: 1 1 1 1
// CHECK: [63]: 1 1 1 1

// RUN: fa3-translate --mlir-to-ptx %s --pass-pipeline="builtin.module(fa3-lower-to-nvvm-pipeline)" -o %t.ptx

// Without the wait the CTAs that run at once take any turn.
// RUN: sed '/@again bra/d' %t.ptx > %t.early.ptx
// RUN: fa3-run --cpu %t.early.ptx --manifest %t.json --sms 8 --schedule-seed 1 --print sum | FileCheck %s --check-prefix=EARLY
// EARLY: sum: 64x64xf32
// EARLY-NEXT: [0]: 0 0 0 0

gpu.module @m {
  // Nobody is in front of the first tile.
  gpu.func @start(%sum: memref<64x64xf32>, %progress: memref<9x64xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    tile.grid (%i) in (%c1) {
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      tile.store %zero, %sum[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
      scf.for %n = %c0 to %c9 step %c1 {
        %all = arith.constant 2147483647 : i32
        %none = arith.constant 0 : i32
        %first = arith.cmpi eq, %n, %c0 : index
        %start = arith.select %first, %all, %none : i32
        %row = tensor.splat %start : tensor<64xi32>
        tile.store %row, %progress[%n, %c0] : tensor<64xi32>, memref<9x64xi32>
      }
    }
    gpu.return
  }

  gpu.func @add(%sum: memref<64x64xf32>, %progress: memref<9x64xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    tile.grid (%n) in (%c8) {
      %one = arith.constant 1.0 : f32
      %large = arith.constant 1.0e8 : f32
      %small = arith.constant -1.0e8 : f32
      %phase = arith.remui %n, %c4 : index
      %is_first = arith.cmpi eq, %phase, %c0 : index
      %c2 = arith.constant 2 : index
      %is_third = arith.cmpi eq, %phase, %c2 : index
      %other = arith.select %is_third, %small, %one : f32
      %term = arith.select %is_first, %large, %other : f32
      // Numbers that are never 12345 at the end, but nobody knows.
      %c7 = arith.constant 7 : index
      %behind = arith.subi %c7, %n : index
      %unit = arith.constant 20000 : index
      %steps = arith.muli %behind, %unit : index
      %seed = arith.constant 1 : i32
      %factor = arith.constant 1664525 : i32
      %shift = arith.constant 1013904223 : i32
      %last = scf.for %i = %c0 to %steps step %c1 iter_args(%number = %seed) -> (i32) {
        %product = arith.muli %number, %factor : i32
        %next = arith.addi %product, %shift : i32
        scf.yield %next : i32
      }
      %never = arith.constant 12345 : i32
      %is = arith.cmpi eq, %last, %never : i32
      %chosen = arith.select %is, %one, %term : f32
      %x = tensor.splat %chosen : tensor<64x64xf32>
      %s = tile.ordered %sum by %progress[%n] at %c0 : memref<64x64xf32>, memref<9x64xi32>
      tile.store %x, %s[%c0, %c0] add : tensor<64x64xf32>, memref<64x64xf32>
      tile.end_ordered %progress[%n] : memref<9x64xi32>
    }
    gpu.return
  }
}

func.func @f(%sum: memref<64x64xf32> {tile.name = "sum"}) {
  %progress = memref.alloc() : memref<9x64xi32>
  tile.launch @m::@start args(%sum, %progress : memref<64x64xf32>, memref<9x64xi32>)
  tile.launch @m::@add args(%sum, %progress : memref<64x64xf32>, memref<9x64xi32>)
  return
}
