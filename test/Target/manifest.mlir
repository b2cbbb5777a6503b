// RUN: cat %s %S/Inputs/kernels.mlir > %t.mlir
// RUN: fa3-translate --mlir-to-ptx %t.mlir -o %t.ptx
// RUN: FileCheck %s < %t.json

// The text of index arithmetic: precedence and associativity, views, strides
// that a type fixes, truth as a number.
// CHECK: "name": "a"
// CHECK: "dims": [
// CHECK-NEXT: "n",
// CHECK-NEXT: "rows"
// CHECK: "access": "read"
// CHECK: "name": "fixed"
// CHECK: "dims": [
// CHECK-NEXT: "fixed_d0",
// CHECK-NEXT: 8
// CHECK: "that": "fixed.shape[0] <= 1 || fixed.stride[0] == 8"
// CHECK: "that": "n > 0 && (m != 3 || n < m)"
// CHECK: "that": "x <= 0.5"
// CHECK: "grid": "n - (m - n) + n * (m + 1)"
// CHECK: "source": "a"
// CHECK: "grid": "ceildiv(n, 4) * (a.shape[1] / 3) + min(max(n, 0) % 7, m)"
// CHECK: "kind": "i32"
// CHECK: "value": "(n < m) * a.stride[0] + (1 - (n < m)) * device.sms"
func.func @formulas(%a: memref<?x?xf32, strided<[?, 1]>> {tile.name = "a", tile.dims = ["n", "rows"]},
                    %fixed: memref<?x8xf16> {tile.name = "fixed"},
                    %n: index {tile.name = "n"}, %m: index {tile.name = "m"}, %x: f32 {tile.name = "x"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %half = arith.constant 0.5 : f32
  %positive = arith.cmpi sgt, %n, %c0 : index
  %three = arith.cmpi ne, %m, %c3 : index
  %less = arith.cmpi slt, %n, %m : index
  %either = arith.ori %three, %less : i1
  %both = arith.andi %positive, %either : i1
  cf.assert %both, "n"
  %small = arith.cmpf ole, %x, %half : f32
  cf.assert %small, "x"
  %d = arith.subi %m, %n : index
  %e = arith.subi %n, %d : index
  %f = arith.addi %m, %c1 : index
  %g = arith.muli %n, %f : index
  %grid = arith.addi %e, %g : index
  %t = memref.transpose %a (i, j) -> (j, i) : memref<?x?xf32, strided<[?, 1]>> to memref<?x?xf32, strided<[1, ?]>>
  %p = hopper.address %t : memref<?x?xf32, strided<[1, ?]>>
  hopper.launch @m::@pointer blocks %grid threads 32 smem 0 args(%p : !llvm.ptr<1>)
  %up = arith.ceildivsi %n, %c4 : index
  %extent = memref.dim %t, %c0 : memref<?x?xf32, strided<[1, ?]>>
  %third = arith.divui %extent, %c3 : index
  %product = arith.muli %up, %third : index
  %most = arith.maxsi %n, %c0 : index
  %rest = arith.remui %most, %c7 : index
  %least = arith.minsi %rest, %m : index
  %sum = arith.addi %product, %least : index
  %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %a : memref<?x?xf32, strided<[?, 1]>> -> memref<f32>, index, index, index, index, index
  %sms = hopper.sm_count
  %choice = arith.select %less, %strides#0, %sms : index
  %value = arith.index_cast %choice : index to i32
  hopper.launch @m::@i32 blocks %sum threads 32 smem 0 args(%value : i32)
  return
}
