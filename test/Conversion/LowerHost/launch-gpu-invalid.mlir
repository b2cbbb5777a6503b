// What gpu.launch_func has no place for is refused where it is.
// RUN: split-file %s %t
// RUN: not fa3-opt %t/map.mlir -fa3-lower-to-nvvm-pipeline=mode=cta -fa3-lower-host=launch=gpu -o /dev/null 2>&1 | FileCheck %t/map.mlir
// RUN: fa3-opt %t/invalid.mlir -fa3-lower-host=launch=gpu -split-input-file -verify-diagnostics
// RUN: not fa3-opt %t/map.mlir -fa3-lower-host='launch=gpu memory=host' -o /dev/null 2>&1 | FileCheck %s --check-prefix=OPTIONS
// RUN: not fa3-opt %t/map.mlir -fa3-lower-host='launch=gpu image=ir' -o /dev/null 2>&1 | FileCheck %s --check-prefix=OPTIONS
// OPTIONS: error: expects launch=gpu with image=ptx and memory=device: gpu.launch_func runs kernels on arrays on the device

//--- map.mlir
// CHECK: map.mlir:[[@LINE+4]]:{{[0-9]+}}: error: makes a tensor map of argument 0 ('q'), for which gpu.launch_func has no place: expects launch=runtime
// CHECK: map.mlir:[[@LINE+3]]:{{[0-9]+}}: note: this launches '@fwd_kernels::@fwd'
!t = tensor<1x2x?x64xf16>
func.func @fwd(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attention.forward %q, %k, %v : (!t, !t, !t) -> !t
  return %o : !t
}

//--- invalid.mlir
gpu.module @kernels {
  llvm.func @k(%a: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
func.func @counter() {
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{lends a counter to a kernel, for which gpu.launch_func has no place: expects launch=runtime}}
  %a = hopper.counter
  // expected-note @+1 {{this launches '@kernels::@k'}}
  hopper.launch @kernels::@k blocks %c1 threads 64 smem 0 args(%a : !llvm.ptr<1>)
  return
}

// -----

gpu.module @kernels {
  llvm.func @k(%a: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
func.func @sms(%x: memref<64xf32>) {
  // expected-error @+1 {{asks for the number of multiprocessors (mode=cta with splits of at least 1 does not), for which gpu.launch_func has no place}}
  %n = hopper.sm_count
  %a = hopper.address %x : memref<64xf32>
  // expected-note @+1 {{this launches '@kernels::@k'}}
  hopper.launch @kernels::@k blocks %n threads 64 smem 0 args(%a : !llvm.ptr<1>)
  return
}

// -----

gpu.module @kernels {
  gpu.func @k(%a: memref<64xf16>) kernel {
    gpu.return
  }
}
func.func @tiles(%a: memref<64xf16>) {
  // expected-error @+1 {{expects kernels that are lowered to LLVM (run fa3-lower-to-nvvm-pipeline)}}
  tile.launch @kernels::@k args(%a : memref<64xf16>)
  return
}

// -----

gpu.module @kernels {
  llvm.func @k(%a: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
// expected-error @+1 {{expects straight-line code around launches}}
func.func @blocks(%x: memref<64xf32>) {
  %c1 = arith.constant 1 : index
  %a = hopper.address %x : memref<64xf32>
  cf.br ^next
^next:
  hopper.launch @kernels::@k blocks %c1 threads 64 smem 0 args(%a : !llvm.ptr<1>)
  return
}

// -----

gpu.module @kernels {
  llvm.func @k(%a: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
func.func @conditional(%n: index, %is_long: i1) {
  scf.if %is_long {
    %c1 = arith.constant 1 : index
    // expected-error @+1 {{allocates a workspace under a condition: expects it directly in the host function}}
    %w = memref.alloc(%n) : memref<?xf32>
    %a = hopper.address %w : memref<?xf32>
    hopper.launch @kernels::@k blocks %c1 threads 64 smem 0 args(%a : !llvm.ptr<1>)
  }
  return
}
