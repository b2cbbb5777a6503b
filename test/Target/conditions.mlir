// Launches under conditions: what the manifest says of them, of checks beside
// them, and of the cost of a call.

// RUN: cat %s %S/Inputs/kernels.mlir > %t.mlir
// RUN: fa3-translate --mlir-to-ptx %t.mlir -o %t.ptx
// RUN: FileCheck %s < %t.json

// CHECK: "that": "(n < 4 && m == 0 || n == m) == 0 || n > m"
// CHECK-NEXT: "message": "few"
// CHECK: "kernel": "none"
// CHECK-NEXT: "grid": "m"
// CHECK: "kernel": "none"
// CHECK-NEXT: "condition": "(n < 4 && m == 0 || n == m)"
// CHECK-NEXT: "grid": "n"
// CHECK: "kernel": "i32"
// CHECK-NEXT: "condition": "(n < 4 && m == 0 || n == m) == 0 && n < m"
// CHECK-NEXT: "grid": "m"
// CHECK: "kernel": "none"
// CHECK-NEXT: "condition": "(n < 4 && m == 0 || n == m) == 0 && (n < m) == 0"
// CHECK-NEXT: "grid": "n"
// CHECK: "flops": "m + n"
// CHECK: "bytes": "n + (n < 4 && m == 0 || n == m) * (m) + (1 - (n < 4 && m == 0 || n == m)) * ((n < m) * (n) + (1 - (n < m)) * (0))"
func.func @choose(%n: index {tile.name = "n"}, %m: index {tile.name = "m"}) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %few = arith.cmpi slt, %n, %c4 : index
  %none = arith.cmpi eq, %m, %c0 : index
  %both = arith.andi %few, %none : i1
  %same = arith.cmpi eq, %n, %m : index
  %either = arith.ori %both, %same : i1
  %less = arith.cmpi slt, %n, %m : index
  %more = arith.cmpi sgt, %n, %m : index
  hopper.launch @m::@none blocks %m threads 32 smem 0 args() cost(%m, %n)
  scf.if %either {
    cf.assert %more, "few"
    hopper.launch @m::@none blocks %n threads 32 smem 0 args() cost(%n, %m)
  } else {
    scf.if %less {
      %value = arith.index_cast %n : index to i32
      hopper.launch @m::@i32 blocks %m threads 32 smem 0 args(%value : i32) cost(%n, %n)
    } else {
      hopper.launch @m::@none blocks %n threads 32 smem 0 args() cost(%n, %c0)
    }
  }
  return
}
