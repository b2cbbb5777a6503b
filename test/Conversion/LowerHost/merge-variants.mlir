// Variants of a host function: one function that chooses at the launch.

// RUN: fa3-opt %s -fa3-merge-variants | FileCheck %s

// What variants share is computed once; a check that they do not share, and the
// launches, are under the conditions. Kernels keep their names if they can.
// CHECK-LABEL: func.func @f(
// CHECK: %[[N:.*]] = memref.dim
// CHECK: cf.assert %{{.*}}, "empty"
// CHECK-NOT: cf.assert
// CHECK-NOT: arith.divui
// CHECK: %[[IS_LESS:.*]] = arith.cmpi slt, %[[N]]
// CHECK: scf.if %[[IS_LESS]] {
// CHECK-NEXT: arith.divui
// CHECK-NEXT: arith.muli
// CHECK-NEXT: tile.launch @k::@f blocks
// CHECK-NEXT: } else {
// CHECK: %[[IS_LESS2:.*]] = arith.cmpi slt, %[[N]]
// CHECK-NEXT: scf.if %[[IS_LESS2]] {
// CHECK-NEXT: cf.assert %{{.*}}, "not even"
// CHECK-NEXT: arith.divui
// CHECK-NEXT: arith.muli
// CHECK-NEXT: tile.launch @k::@f_1 blocks
// CHECK-NEXT: tile.launch @k::@g blocks
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.launch @k::@f_2 blocks
// CHECK: gpu.module @k {
// CHECK: gpu.func @f({{.*}}hopper.llvm_passes = "none"
// CHECK: gpu.func @f_1(
// CHECK: gpu.func @g(
// CHECK: gpu.func @f_2(
// CHECK-NOT: module

// Each extent has its kernel, which writes its number.
// RUN: fa3-opt %s -fa3-merge-variants -o %t.mlir
// RUN: fa3-run --cpu %t.mlir --dims n=3 --print a --no-check | FileCheck %s --check-prefix=FEW
// FEW: a: 3xf32
// FEW-NEXT: []: 1 1 1
// RUN: fa3-run --cpu %t.mlir --dims n=4 --print a --no-check | FileCheck %s --check-prefix=MORE
// MORE: a: 4xf32
// MORE-NEXT: []: 12 12 12 12
// RUN: fa3-run --cpu %t.mlir --dims n=8 --print a --no-check | FileCheck %s --check-prefix=MANY
// MANY: []: 3 3 3 3 3 3 3 3
// The check of a variant counts where the variant is launched.
// RUN: not fa3-run --cpu %t.mlir --dims n=5 --no-check 2>&1 | FileCheck %s --check-prefix=CHECK-OF-ONE
// CHECK-OF-ONE: error: {{.*}}not even
// RUN: fa3-run --cpu %t.mlir --dims n=9 --no-check

// A module without variants stays as it is.
// RUN: fa3-opt %t.mlir -fa3-merge-variants | diff %t.mlir -

module @few {
  func.func private @condition(%a: memref<?xf32>) -> i1 {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %n = memref.dim %a, %c0 : memref<?xf32>
    %few = arith.cmpi slt, %n, %c4 : index
    return %few : i1
  }
  func.func @f(%a: memref<?xf32> {tile.name = "a", tile.dims = ["n"]}) {
    %c0 = arith.constant 0 : index
    %n = memref.dim %a, %c0 : memref<?xf32>
    %some = arith.cmpi sgt, %n, %c0 : index
    cf.assert %some, "empty"
    %one = arith.divui %n, %n : index
    %blocks = arith.muli %n, %one : index
    tile.launch @k::@f blocks %blocks args(%a : memref<?xf32>)
    return
  }
  gpu.module @k attributes {hopper.llvm_passes = "none"} {
    gpu.func @f(%a: memref<?xf32>) kernel {
      %i = gpu.block_id x
      %x = arith.constant 1.0 : f32
      memref.store %x, %a[%i] : memref<?xf32>
      gpu.return
    }
  }
}
module @more {
  func.func private @condition(%a: memref<?xf32>) -> i1 {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %n = memref.dim %a, %c0 : memref<?xf32>
    %few = arith.cmpi slt, %n, %c8 : index
    return %few : i1
  }
  func.func @f(%a: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %n = memref.dim %a, %c0 : memref<?xf32>
    %some = arith.cmpi sgt, %n, %c0 : index
    cf.assert %some, "empty"
    %rest = arith.remsi %n, %c2 : index
    %even = arith.cmpi eq, %rest, %c0 : index
    cf.assert %even, "not even"
    // Not to be moved past the check in front of it.
    %one = arith.divui %n, %n : index
    %blocks = arith.muli %one, %n : index
    tile.launch @k::@f blocks %blocks args(%a : memref<?xf32>)
    tile.launch @k::@g blocks %n args(%a : memref<?xf32>)
    return
  }
  gpu.module @k {
    gpu.func @f(%a: memref<?xf32>) kernel {
      %i = gpu.block_id x
      %x = arith.constant 2.0 : f32
      memref.store %x, %a[%i] : memref<?xf32>
      gpu.return
    }
    gpu.func @g(%a: memref<?xf32>) kernel {
      %i = gpu.block_id x
      %ten = arith.constant 10.0 : f32
      %x = memref.load %a[%i] : memref<?xf32>
      %y = arith.addf %x, %ten : f32
      memref.store %y, %a[%i] : memref<?xf32>
      gpu.return
    }
  }
}
module @many {
  func.func @f(%a: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %n = memref.dim %a, %c0 : memref<?xf32>
    %some = arith.cmpi sgt, %n, %c0 : index
    cf.assert %some, "empty"
    tile.launch @k::@f blocks %n args(%a : memref<?xf32>)
    return
  }
  gpu.module @k {
    gpu.func @f(%a: memref<?xf32>) kernel {
      %i = gpu.block_id x
      %x = arith.constant 3.0 : f32
      memref.store %x, %a[%i] : memref<?xf32>
      gpu.return
    }
  }
}
