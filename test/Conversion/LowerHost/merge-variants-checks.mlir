// A check that one variant has twice, and another not at all, counts for the
// first only.

// RUN: fa3-opt %s -fa3-merge-variants -o %t.mlir && FileCheck %s < %t.mlir
// CHECK-LABEL: func.func @f(
// CHECK-NOT: cf.assert
// CHECK: scf.if
// CHECK: cf.assert %{{.*}}, "at most 9"
// CHECK: cf.assert %{{.*}}, "at most 9"
// CHECK: } else {
// CHECK-NOT: cf.assert

// RUN: fa3-run --cpu %t.mlir --dims n=20 --no-check
// RUN: not fa3-run --cpu %t.mlir --dims n=10 --no-check 2>&1 | FileCheck %s --check-prefix=LONG
// LONG: error: {{.*}}at most 9

module {
  func.func private @condition(%a: memref<?xf32>) -> i1 {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %n = memref.dim %a, %c0 : memref<?xf32>
    %few = arith.cmpi slt, %n, %c16 : index
    return %few : i1
  }
  func.func @f(%a: memref<?xf32> {tile.name = "a", tile.dims = ["n"]}) {
    %c0 = arith.constant 0 : index
    %c9 = arith.constant 9 : index
    %n = memref.dim %a, %c0 : memref<?xf32>
    %short = arith.cmpi sle, %n, %c9 : index
    cf.assert %short, "at most 9"
    cf.assert %short, "at most 9"
    tile.launch @k::@f blocks %n args(%a : memref<?xf32>)
    return
  }
  gpu.module @k {
    gpu.func @f(%a: memref<?xf32>) kernel {
      %i = gpu.block_id x
      %x = arith.constant 1.0 : f32
      memref.store %x, %a[%i] : memref<?xf32>
      gpu.return
    }
  }
}
module {
  func.func @f(%a: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %n = memref.dim %a, %c0 : memref<?xf32>
    tile.launch @k::@f blocks %n args(%a : memref<?xf32>)
    return
  }
  gpu.module @k {
    gpu.func @f(%a: memref<?xf32>) kernel {
      %i = gpu.block_id x
      %x = arith.constant 2.0 : f32
      memref.store %x, %a[%i] : memref<?xf32>
      gpu.return
    }
  }
}
