// Absolute values become instructions of their own: ptxas makes wrong code for
// sm_90a of the maximum of two numbers that are maxima of a number and its
// negative.

// RUN: fa3-translate --mlir-to-ptx %s | FileCheck %s --implicit-check-not=neg.s \
// RUN:   --implicit-check-not=max.s64

gpu.module @m {
  // CHECK-LABEL: .entry abs(
  // CHECK-DAG: abs.s32
  // CHECK-DAG: abs.s32
  // CHECK: max.s32
  // CHECK: abs.s64
  llvm.func @abs(%p: !llvm.ptr<1>, %x: i32, %y: i32, %z: i64) attributes {nvvm.kernel} {
    %a = "llvm.intr.abs"(%x) <{is_int_min_poison = false}> : (i32) -> i32
    %zero = llvm.mlir.constant(0 : i32) : i32
    %n = llvm.sub %zero, %y : i32
    %b = llvm.intr.smax(%y, %n) : (i32, i32) -> i32
    %c = llvm.intr.smax(%a, %b) : (i32, i32) -> i32
    llvm.store volatile %c, %p : i32, !llvm.ptr<1>
    %d = "llvm.intr.abs"(%z) <{is_int_min_poison = false}> : (i64) -> i64
    llvm.store volatile %d, %p : i64, !llvm.ptr<1>
    llvm.return
  }
  // CHECK-LABEL: .entry vector(
  // CHECK: abs.s32
  // CHECK: abs.s32
  llvm.func @vector(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %x = llvm.load volatile %p : !llvm.ptr<1> -> vector<2xi32>
    %a = "llvm.intr.abs"(%x) <{is_int_min_poison = false}> : (vector<2xi32>) -> vector<2xi32>
    llvm.store volatile %a, %p : vector<2xi32>, !llvm.ptr<1>
    llvm.return
  }
}
