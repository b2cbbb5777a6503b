// RUN: fa3-opt %s -fa3-lower-host=workspace=program -split-input-file -mlir-print-op-on-diagnostic=false -verify-diagnostics
// RUN: not fa3-opt %s -split-input-file -fa3-lower-host='workspace=program image=ir' -o /dev/null 2>&1 | FileCheck %s
// RUN: not fa3-opt %s -split-input-file -fa3-lower-host='workspace=program memory=host' -o /dev/null 2>&1 | FileCheck %s
// CHECK: error: expects workspace=program with image=ptx, memory=device and launch=runtime: the program's memory is on the device

func.func private @f(%x: memref<4xf32>, %y: memref<4xf32>) {
  return
}
// expected-error @+1 {{has more than one argument with 'attention.stream'}}
func.func @two(%x: memref<4xf32>, %y: memref<4xf32>, %s: !llvm.ptr {attention.stream}, %t: !llvm.ptr {attention.stream}) {
  attention.call @f(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// -----

func.func private @f(%x: memref<4xf32>, %y: memref<4xf32>) {
  return
}
// expected-error @+1 {{argument 2 has 'attention.stream': expects type '!llvm.ptr', got 'i64'}}
func.func @type(%x: memref<4xf32>, %y: memref<4xf32>, %s: i64 {attention.stream}) {
  attention.call @f(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// -----

gpu.module @kernels {
  llvm.func @k(%a: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
func.func @public(%x: memref<4xf32>, %y: memref<4xf32>) {
  %c1 = arith.constant 1 : index
  %a = hopper.address %x : memref<4xf32>
  hopper.launch @kernels::@k blocks %c1 threads 64 smem 0 args(%a : !llvm.ptr<1>)
  return
}
func.func @caller(%x: memref<4xf32>, %y: memref<4xf32>, %s: !llvm.ptr {attention.stream}) {
  // expected-error @+1 {{calls 'public' on a stream: expects a private function that nothing else refers to}}
  attention.call @public(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// -----

gpu.module @kernels {
  llvm.func @k(%a: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
// expected-error @+1 {{has workspaces: expects a private function that attention.call calls, with workspace=program}}
func.func @uncalled(%x: memref<4xf32>) {
  %c1 = arith.constant 1 : index
  %w = memref.alloc() : memref<4xf32>
  %a = hopper.address %w : memref<4xf32>
  hopper.launch @kernels::@k blocks %c1 threads 64 smem 0 args(%a : !llvm.ptr<1>)
  return
}

// -----

gpu.module @kernels {
  llvm.func @k(%a: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
func.func private @multiprocessors(%x: memref<4xf32>, %y: memref<4xf32>) {
  %c1 = arith.constant 1 : index
  %n = hopper.sm_count
  // expected-error @+1 {{has an extent that is no formula of the arguments (splits of 0 make it one of multiprocessors): expects workspace=runtime}}
  %w = memref.alloc(%n) : memref<?xf32>
  %a = hopper.address %w : memref<?xf32>
  hopper.launch @kernels::@k blocks %c1 threads 64 smem 0 args(%a : !llvm.ptr<1>)
  return
}
func.func @caller(%x: memref<4xf32>, %y: memref<4xf32>) {
  attention.call @multiprocessors(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}
