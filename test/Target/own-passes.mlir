// Kernels of one module may ask for passes on LLVM IR of their own; --opt counts
// more.

// RUN: split-file %s %t
// RUN: fa3-translate --mlir-to-llvmir %t/own.mlir | FileCheck %s
// RUN: fa3-translate --mlir-to-llvmir --opt=none %t/own.mlir | FileCheck %s --check-prefix=NONE

// CHECK-LABEL: @none(
// CHECK: add i32 %1, 1
// CHECK: add i32 %1, 1
// CHECK-LABEL: @small(
// CHECK: add i32 %1, 1
// CHECK-NOT: add i32 %1, 1
// CHECK-LABEL: @like_its_module(
// CHECK: add i32 %1, 1
// CHECK-NOT: add i32 %1, 1

// NONE-LABEL: @small(
// NONE: add i32 %1, 1
// NONE: add i32 %1, 1
// NONE-LABEL: @like_its_module(

//--- own.mlir
gpu.module @m attributes {hopper.llvm_passes = "small"} {
  llvm.func @none(%p: !llvm.ptr<1>, %x: i32) attributes {nvvm.kernel, hopper.llvm_passes = "none"} {
    %one = llvm.mlir.constant(1 : i32) : i32
    %a = llvm.add %x, %one : i32
    %b = llvm.add %x, %one : i32
    llvm.store volatile %a, %p : i32, !llvm.ptr<1>
    llvm.store volatile %b, %p : i32, !llvm.ptr<1>
    llvm.return
  }
  llvm.func @small(%p: !llvm.ptr<1>, %x: i32) attributes {nvvm.kernel, hopper.llvm_passes = "small"} {
    %one = llvm.mlir.constant(1 : i32) : i32
    %a = llvm.add %x, %one : i32
    %b = llvm.add %x, %one : i32
    llvm.store volatile %a, %p : i32, !llvm.ptr<1>
    llvm.store volatile %b, %p : i32, !llvm.ptr<1>
    llvm.return
  }
  llvm.func @like_its_module(%p: !llvm.ptr<1>, %x: i32) attributes {nvvm.kernel} {
    %one = llvm.mlir.constant(1 : i32) : i32
    %a = llvm.add %x, %one : i32
    %b = llvm.add %x, %one : i32
    llvm.store volatile %a, %p : i32, !llvm.ptr<1>
    llvm.store volatile %b, %p : i32, !llvm.ptr<1>
    llvm.return
  }
}

// Passes on whole modules are not for one kernel.
// RUN: not fa3-translate --mlir-to-llvmir %t/module.mlir 2>&1 | FileCheck %s --check-prefix=MODULE
// MODULE: module.mlir:{{[0-9]+}}:3: error: expects passes none, rows or small where kernels of a module differ in them, got 'O1'
//--- module.mlir
gpu.module @m {
  llvm.func @k(%p: !llvm.ptr<1>) attributes {nvvm.kernel, hopper.llvm_passes = "O1"} {
    llvm.return
  }
}
