// CTAs add to an array in the order of a line. They start in the order of their
// numbers: where that is not the order of the line, one waits for another that has
// not started, and there may be no room for it.
// RUN: fa3-run --cpu %s --fill progress=0 --print sum --print progress | FileCheck %s
// RUN: sed 's/%%id = gpu/%%front = gpu/; s|// -- ||' %s > %t.back.mlir
// RUN: not fa3-run --cpu %t.back.mlir --fill progress=0 2>&1 | FileCheck %s --check-prefix=BACK
// BACK: error: 'tile.ordered' deadlocks: waits for a tile to come to 1 that is at 0, of a CTA that has not started or has ended
// BACK: note: while running block 0 of the kernel

// A tile must not go back, nor forget to tell its end.
// RUN: sed 's/at %%c1 :/at %%cX :/; s/at %%c0 :/at %%c1 :/; s/at %%cX :/at %%c0 :/' %s > %t.fall.mlir
// RUN: not fa3-run --cpu %t.fall.mlir --fill progress=0 2>&1 | FileCheck %s --check-prefix=FALL
// FALL: error: 'tile.ordered' comes to 0 after 1
// RUN: sed '/tile.end_ordered/d' %s > %t.endless.mlir
// RUN: not fa3-run --cpu %t.endless.mlir --fill progress=0 2>&1 | FileCheck %s --check-prefix=END
// END: error: 'tile.ordered' deadlocks: waits for a tile to come to 2 that is at 1, of a CTA that has not started or has ended
// END: note: while running block 1 of the kernel

// CHECK: sum: 2x4xf32
// CHECK-NEXT: [0]: 3 3 3 3
// CHECK-NEXT: [1]: 3 3 3 3
// CHECK: progress: 4x1xi32
// CHECK-NEXT: [0]: 2147483647
// CHECK-NEXT: [1]: 2147483646
// CHECK-NEXT: [2]: 2147483646
// CHECK-NEXT: [3]: 2147483646

gpu.module @m {
  gpu.func @k(%sum: memref<2x4xf32>, %progress: memref<4x1xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %id = gpu.block_id x
    // -- %id = arith.subi %c2, %front : index
    %one = arith.constant dense<1.0> : tensor<1x4xf32>
    %s0 = tile.ordered %sum by %progress[%id] at %c0 : memref<2x4xf32>, memref<4x1xi32>
    tile.store %one, %s0[%c0, %c0] add : tensor<1x4xf32>, memref<2x4xf32>
    %s1 = tile.ordered %sum by %progress[%id] at %c1 : memref<2x4xf32>, memref<4x1xi32>
    tile.store %one, %s1[%c1, %c0] add : tensor<1x4xf32>, memref<2x4xf32>
    tile.end_ordered %progress[%id] : memref<4x1xi32>
    gpu.return
  }
}

func.func @f(%sum: memref<2x4xf32> {tile.name = "sum"}, %progress: memref<4x1xi32> {tile.name = "progress"}) {
  %n = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      memref.store %zero, %sum[%i, %j] : memref<2x4xf32>
    }
  }
  scf.for %i = %c1 to %c4 step %c1 {
    memref.store %none, %progress[%i, %c0] : memref<4x1xi32>
  }
  %all = arith.constant 2147483647 : i32
  memref.store %all, %progress[%c0, %c0] : memref<4x1xi32>
  tile.launch @m::@k blocks %n args(%sum, %progress : memref<2x4xf32>, memref<4x1xi32>)
  return
}
