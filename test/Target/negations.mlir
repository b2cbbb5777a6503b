// ptxas loses a negation in max(max(a, -b), c), so there is none that may become
// an operand of a minimum or maximum.

// RUN: fa3-translate --mlir-to-ptx %s | FileCheck %s

gpu.module @m {
  // Absolute values have an instruction.
  // CHECK-LABEL: .entry abs(
  // CHECK-DAG: abs.s32
  // CHECK-DAG: abs.s32
  // CHECK: max.s32
  llvm.func @abs(%p: !llvm.ptr<1>, %x: i32, %y: i32) attributes {nvvm.kernel} {
    %a = "llvm.intr.abs"(%x) <{is_int_min_poison = false}> : (i32) -> i32
    %zero = llvm.mlir.constant(0 : i32) : i32
    %n = llvm.sub %zero, %y : i32
    %b = llvm.intr.smax(%y, %n) : (i32, i32) -> i32
    %c = llvm.intr.smax(%a, %b) : (i32, i32) -> i32
    llvm.store volatile %c, %p : i32, !llvm.ptr<1>
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

  // -|x| is one of them, too.
  // CHECK-LABEL: .entry extrema(
  // CHECK-COUNT-4: not.b32
  llvm.func @extrema(%p: !llvm.ptr<1>, %x: i32, %y: i32, %z: i32) attributes {nvvm.kernel} {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %minus = llvm.mlir.constant(-1 : i32) : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %nx = llvm.sub %zero, %x : i32
    %a = llvm.intr.smax(%z, %nx) : (i32, i32) -> i32
    llvm.store volatile %a, %p : i32, !llvm.ptr<1>
    %ny = llvm.mul %y, %minus : i32
    %b = llvm.intr.umin(%z, %ny) : (i32, i32) -> i32
    llvm.store volatile %b, %p : i32, !llvm.ptr<1>
    %not = llvm.xor %z, %minus : i32
    %nz = llvm.add %not, %one : i32
    %c = llvm.intr.smin(%y, %nz) : (i32, i32) -> i32
    llvm.store volatile %c, %p : i32, !llvm.ptr<1>
    %far = "llvm.intr.abs"(%x) <{is_int_min_poison = false}> : (i32) -> i32
    %near = llvm.sub %zero, %far : i32
    %d = llvm.intr.smin(%y, %near) : (i32, i32) -> i32
    llvm.store volatile %d, %p : i32, !llvm.ptr<1>
    llvm.return
  }

  // LLVM makes one comparison with a maximum of the two, and |x| of the select.
  // CHECK-LABEL: .entry comparisons(
  // CHECK: not.b32
  // CHECK: not.b32
  llvm.func @comparisons(%p: !llvm.ptr<1>, %x: i32, %y: i32) attributes {nvvm.kernel} {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %n = llvm.sub %zero, %x : i32
    %a = llvm.icmp "sle" %x, %y : i32
    %b = llvm.icmp "sle" %n, %y : i32
    %both = llvm.and %a, %b : i1
    %m = llvm.sub %zero, %y : i32
    %negative = llvm.icmp "slt" %y, %zero : i32
    %far = llvm.select %negative, %m, %y : i1, i32
    %c = llvm.select %both, %far, %zero : i1, i32
    llvm.store volatile %c, %p : i32, !llvm.ptr<1>
    llvm.return
  }

  // Others stay.
  // CHECK-LABEL: .entry plain(
  // CHECK: {{neg|sub}}.s
  llvm.func @plain(%p: !llvm.ptr<1>, %x: i32) attributes {nvvm.kernel} {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %n = llvm.sub %zero, %x : i32
    llvm.store volatile %n, %p : i32, !llvm.ptr<1>
    llvm.return
  }
}
