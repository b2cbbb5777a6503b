// A tile that leaves out positions says so only when the tiles before it have come
// that far. The first of three tiles adds to all rows, late; the second to the last
// ones only; the third to the second and last. Sums start at -1e8: the first tile
// adds 1e8, the others 1, of which nothing is left where they come too early.

// DEFINE: %{ptx} = fa3-run --executor=ptx %s --print sum
// RUN: fa3-run --cpu %s --pass-pipeline='builtin.module(fa3-tile)' --print sum | FileCheck %s
// RUN: fa3-run --cpu %s --require-fences --pass-pipeline='builtin.module(fa3-tile,fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' --completion random --print sum | FileCheck %s
// RUN: %{ptx} --sms 1 | FileCheck %s
// RUN: %{ptx} --sms 3 --schedule-seed 1 | FileCheck %s
// RUN: %{ptx} --sms 3 --schedule-seed 2 | FileCheck %s
// CHECK: sum: 192x64xf32
// CHECK-NEXT: [0]: 0 0 0 0
// CHECK: [64]: 1 1 1 1
// CHECK: [128]: 2 2 2 2

// Told in front of the wait, what is left out lets the third tile pass the first.
// RUN: fa3-translate --mlir-to-ptx %s --pass-pipeline="builtin.module(fa3-lower-to-nvvm-pipeline)" -o %t.ptx
// RUN: awk '/setp.gt.s32 go, seen/ {held = 1} held {wait = wait $0 RS; if (/^GO_/) held = 0; next} {print} wait && /st.release/ {printf "%%s", wait; wait = ""}' %t.ptx > %t.early.ptx
// RUN: fa3-run --cpu %t.early.ptx --manifest %t.json --sms 3 --schedule-seed 1 --print sum | FileCheck %s --check-prefix=EARLY
// EARLY: sum: 192x64xf32
// EARLY: [64]: 0 0 0 0

gpu.module @m {
  gpu.func @start(%sum: memref<192x64xf32>, %progress: memref<4x64xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    tile.grid (%i) in (%c3) {
      %small = arith.constant dense<-1.0e8> : tensor<64x64xf32>
      %row = arith.muli %i, %c64 : index
      tile.store %small, %sum[%row, %c0] : tensor<64x64xf32>, memref<192x64xf32>
      scf.for %n = %c0 to %c4 step %c1 {
        %all = arith.constant 2147483647 : i32
        %none = arith.constant 0 : i32
        %first = arith.cmpi eq, %n, %c0 : index
        %start = arith.select %first, %all, %none : i32
        %line = tensor.splat %start : tensor<64xi32>
        tile.store %line, %progress[%n, %c0] : tensor<64xi32>, memref<4x64xi32>
      }
    }
    gpu.return
  }

  gpu.func @add(%sum: memref<192x64xf32>, %progress: memref<4x64xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c64 = arith.constant 64 : index
    tile.grid (%n) in (%c3) {
      %one = arith.constant 1.0 : f32
      %large = arith.constant 1.0e8 : f32
      %is_first = arith.cmpi eq, %n, %c0 : index
      %term = arith.select %is_first, %large, %one : f32
      // A number that is never 12345 at the end, but nobody knows.
      %unit = arith.constant 40000 : index
      %steps = arith.select %is_first, %unit, %c1 : index
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
      // Positions from 0, 2 and 1 on.
      %twice = arith.muli %n, %c2 : index
      %from = arith.remui %twice, %c3 : index
      scf.for %t = %from to %c3 step %c1 {
        %row = arith.muli %t, %c64 : index
        %s = tile.ordered %sum by %progress[%n] at %t : memref<192x64xf32>, memref<4x64xi32>
        tile.store %x, %s[%row, %c0] add : tensor<64x64xf32>, memref<192x64xf32>
      }
      tile.end_ordered %progress[%n] : memref<4x64xi32>
    }
    gpu.return
  }
}

func.func @f(%sum: memref<192x64xf32> {tile.name = "sum"}) {
  %progress = memref.alloc() : memref<4x64xi32>
  tile.launch @m::@start args(%sum, %progress : memref<192x64xf32>, memref<4x64xi32>)
  tile.launch @m::@add args(%sum, %progress : memref<192x64xf32>, memref<4x64xi32>)
  return
}
