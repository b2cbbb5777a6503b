// Kernels that need no tensor map, launched by gpu.launch_func: upstream lowers
// the program, and its runtime wrappers, which are those of Inputs/wrappers.c
// here, get PTX, grid and arguments.
// REQUIRES: mlir-runner, plugin, cc
// RUN: %cc -shared -fPIC %S/Inputs/wrappers.c -o %t.so
// RUN: %mlir_fa3 %s --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline{mode=cta},fa3-lower-host{launch=gpu},convert-scf-to-cf,expand-strided-metadata,lower-affine,gpu-to-llvm,convert-to-llvm,reconcile-unrealized-casts)' -o %t.mlir
// RUN: %llvm_root/bin/mlir-runner %t.mlir -e main -entry-point-result=void --shared-libs=%t.so,%llvm_root/lib/libmlir_runner_utils.so,%llvm_root/lib/libmlir_c_runner_utils.so | FileCheck %s
// Twice 300 elements, then none.
// CHECK: alloc 1200
// CHECK-NEXT: launch scale: 3 blocks of 128 threads, 0 bytes, 5 arguments
// CHECK-NEXT: launch add: 3 blocks of 128 threads, 0 bytes, 4 arguments
// CHECK-NEXT: free
// CHECK: alloc 0
// CHECK-NEXT: free
// y[i] = i + 0.5 * (300 - i), of which every 100th is shown.
// CHECK: data =
// CHECK-NEXT: [150, 200, 250]

!any = memref<?xf32, strided<[1]>>
gpu.module @kernels {
  gpu.func @scale(%x: !any, %w: !any, %a: f32, %n: index) kernel {
    %c128 = arith.constant 128 : index
    tile.grid (%m) in (%n) {
      %i = arith.muli %m, %c128 : index
      %t = tile.load %x[%i] : !any -> tensor<128xf32>
      %s = tensor.splat %a : tensor<128xf32>
      %p = arith.mulf %t, %s : tensor<128xf32>
      tile.store %p, %w[%i] : tensor<128xf32>, !any
    }
    gpu.return
  }
  gpu.func @add(%w: !any, %y: !any, %n: index) kernel {
    %c128 = arith.constant 128 : index
    tile.grid (%m) in (%n) {
      %i = arith.muli %m, %c128 : index
      %t = tile.load %w[%i] : !any -> tensor<128xf32>
      %u = tile.load %y[%i] : !any -> tensor<128xf32>
      %p = arith.addf %u, %t : tensor<128xf32>
      tile.store %p, %y[%i] : tensor<128xf32>, !any
    }
    gpu.return
  }
}
// y += a x, the product in memory between two kernels.
func.func @axpy(%x: !any {tile.name = "x"}, %y: !any {tile.name = "y"}, %a: f32) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %x, %c0 : !any
  %m = memref.dim %y, %c0 : !any
  %same = arith.cmpi eq, %n, %m : index
  cf.assert %same, "x and y differ in length"
  %blocks = arith.ceildivsi %n, %c128 : index
  %w = memref.alloc(%n) : memref<?xf32>
  %v = memref.cast %w : memref<?xf32> to !any
  tile.launch @kernels::@scale args(%x, %v, %a, %blocks : !any, !any, f32, index)
  tile.launch @kernels::@add args(%v, %y, %blocks : !any, !any, index)
  return
}

func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 300 : index
  %a = arith.constant 0.5 : f32
  %x = memref.alloc(%n) : memref<?xf32>
  %y = memref.alloc(%n) : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %rest = arith.subi %n, %i : index
    %j = arith.index_cast %i : index to i32
    %k = arith.index_cast %rest : index to i32
    %f = arith.sitofp %j : i32 to f32
    %g = arith.sitofp %k : i32 to f32
    memref.store %g, %x[%i] : memref<?xf32>
    memref.store %f, %y[%i] : memref<?xf32>
  }
  %x0 = memref.cast %x : memref<?xf32> to !any
  %y0 = memref.cast %y : memref<?xf32> to !any
  call @axpy(%x0, %y0, %a) : (!any, !any, f32) -> ()
  %x1 = memref.subview %x0[0] [%c0] [1] : !any to !any
  %y1 = memref.subview %y0[0] [%c0] [1] : !any to !any
  call @axpy(%x1, %y1, %a) : (!any, !any, f32) -> ()
  %part = memref.subview %y[0] [3] [100] : memref<?xf32> to memref<3xf32, strided<[100]>>
  %u = memref.cast %part : memref<3xf32, strided<[100]>> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  return
}
