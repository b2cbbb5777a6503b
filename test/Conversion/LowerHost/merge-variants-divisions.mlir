// What is defined for some operands only, such as a division by an extent,
// stays behind the checks of its variant and under its condition.

// RUN: fa3-opt %s -fa3-merge-variants -o %t.mlir && FileCheck %s < %t.mlir
// CHECK-LABEL: func.func @f(
// A division that all variants have behind the same checks is done once.
// CHECK: cf.assert %{{.*}}, "no columns"
// CHECK: arith.ceildivui
// CHECK-NOT: arith.ceildivui
// A division by a number is defined everywhere.
// CHECK: arith.floordivsi
// CHECK-NOT: arith.divui
// CHECK-NOT: arith.remsi
// CHECK: scf.if
// CHECK-NEXT: cf.assert %{{.*}}, "no rows"
// CHECK-NEXT: arith.divui
// CHECK: arith.remsi
// CHECK-NEXT: arith.cmpi eq
// CHECK-NEXT: cf.assert %{{.*}}, "not a multiple"
// CHECK-NEXT: arith.addi
// CHECK-NEXT: tile.launch @k::@f blocks
// CHECK-NEXT: } else {
// The second condition counts on the first.
// CHECK: arith.divui
// CHECK: scf.if
// CHECK-NEXT: arith.divui
// CHECK: tile.launch @k::@f_1
// CHECK: } else {
// CHECK: tile.launch @k::@f_2

// No division by the 0 rows of `b`, for which this variant is not made.
// RUN: fa3-run --cpu %t.mlir --dims n=20,m=0,c=2 --no-check --print a | FileCheck %s --check-prefix=MANY
// MANY: []: 3 3 3
// RUN: fa3-run --cpu %t.mlir --dims n=4,m=2,c=2 --no-check --print a | FileCheck %s --check-prefix=FEW
// FEW: []: 1 1 1 1
// RUN: not fa3-run --cpu %t.mlir --dims n=4,m=0,c=2 --no-check 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: {{.*}}no rows
// RUN: not fa3-run --cpu %t.mlir --dims n=4,m=3,c=2 --no-check 2>&1 | FileCheck %s --check-prefix=ODD
// ODD: error: {{.*}}not a multiple
// RUN: fa3-run --cpu %t.mlir --dims n=10,m=5,c=2 --no-check --print a | FileCheck %s --check-prefix=MORE
// MORE: []: 2 2 2

module {
  func.func private @condition(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>) -> i1 {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %n = memref.dim %a, %c0 : memref<?xf32>
    %few = arith.cmpi slt, %n, %c8 : index
    return %few : i1
  }
  func.func @f(%a: memref<?xf32> {tile.name = "a", tile.dims = ["n"]}, %b: memref<?xf32> {tile.name = "b", tile.dims = ["m"]}, %c: memref<?xf32> {tile.name = "c", tile.dims = ["c"]}) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %n = memref.dim %a, %c0 : memref<?xf32>
    %m = memref.dim %b, %c0 : memref<?xf32>
    %columns = memref.dim %c, %c0 : memref<?xf32>
    %some = arith.cmpi sgt, %columns, %c0 : index
    cf.assert %some, "no columns"
    %shared = arith.ceildivui %n, %columns : index
    %half = arith.floordivsi %shared, %c2 : index
    %any = arith.cmpi sgt, %m, %c0 : index
    cf.assert %any, "no rows"
    %each = arith.divui %n, %m : index
    %rest = arith.remsi %n, %m : index
    %whole = arith.cmpi eq, %rest, %c0 : index
    cf.assert %whole, "not a multiple"
    %blocks = arith.addi %each, %half : index
    tile.launch @k::@f blocks %n args(%a, %blocks : memref<?xf32>, index)
    return
  }
  gpu.module @k {
    gpu.func @f(%a: memref<?xf32>, %n: index) kernel {
      %i = gpu.block_id x
      %x = arith.constant 1.0 : f32
      memref.store %x, %a[%i] : memref<?xf32>
      gpu.return
    }
  }
}
module {
  func.func private @condition(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>) -> i1 {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %n = memref.dim %a, %c0 : memref<?xf32>
    %more = arith.subi %n, %c8 : index
    %next = arith.addi %more, %c8 : index
    %share = arith.divui %c16, %next : index
    %few = arith.cmpi sge, %share, %c0 : index
    %short = arith.cmpi slt, %n, %c16 : index
    %is = arith.andi %few, %short : i1
    return %is : i1
  }
  func.func @f(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %n = memref.dim %a, %c0 : memref<?xf32>
    %m = memref.dim %b, %c0 : memref<?xf32>
    %columns = memref.dim %c, %c0 : memref<?xf32>
    %some = arith.cmpi sgt, %columns, %c0 : index
    cf.assert %some, "no columns"
    %shared = arith.ceildivui %n, %columns : index
    %half = arith.floordivsi %shared, %c2 : index
    // There are rows where this is launched.
    %each = arith.divui %n, %m : index
    %blocks = arith.addi %each, %half : index
    tile.launch @k::@f blocks %n args(%a, %blocks : memref<?xf32>, index)
    return
  }
  gpu.module @k {
    gpu.func @f(%a: memref<?xf32>, %n: index) kernel {
      %i = gpu.block_id x
      %x = arith.constant 2.0 : f32
      memref.store %x, %a[%i] : memref<?xf32>
      gpu.return
    }
  }
}
module {
  func.func @f(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %n = memref.dim %a, %c0 : memref<?xf32>
    %columns = memref.dim %c, %c0 : memref<?xf32>
    %some = arith.cmpi sgt, %columns, %c0 : index
    cf.assert %some, "no columns"
    %shared = arith.ceildivui %n, %columns : index
    tile.launch @k::@f blocks %n args(%a, %shared : memref<?xf32>, index)
    return
  }
  gpu.module @k {
    gpu.func @f(%a: memref<?xf32>, %n: index) kernel {
      %i = gpu.block_id x
      %x = arith.constant 3.0 : f32
      memref.store %x, %a[%i] : memref<?xf32>
      gpu.return
    }
  }
}
