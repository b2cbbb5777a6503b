// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline -fa3-lower-host=memory=host | FileCheck %s --check-prefixes=CHECK,PTX
// RUN: fa3-opt %s -fa3-tile -fa3-lower-host=image=ir | FileCheck %s --check-prefixes=CHECK,IR
// RUN: fa3-opt %s -attention-expand-mods -attention-to-reference -fa3-lower-host | FileCheck %s --check-prefix=LOOPS

// The order of dimensions becomes strides; arrays may be parts of others.

// CHECK-LABEL: func.func @caller
// CHECK: %[[T:.*]] = memref.transpose %arg0 (d0, d1, d2, d3) -> (d0, d2, d1, d3)
// CHECK: %[[Q:.*]] = memref.cast %[[T]] : memref<1x2x8x64xf16, strided<[1024, 64, 128, 1]>> to memref<1x2x?x64xf16, strided<[?, ?, ?, ?], offset: ?>>
// CHECK: call @f(%[[Q]], %{{.*}}, %arg2, %{{.*}}) :

// CHECK: llvm.mlir.global internal constant @f_manifest(
// PTX-SAME: \22function\22: \22f\22
// CHECK: llvm.mlir.global internal constant @f_image(
// PTX-SAME: .target sm_90a
// IR-SAME: tile.launch
// CHECK: llvm.mlir.global internal @f_program()
// CHECK: llvm.mlir.addressof @f_name
// CHECK: llvm.mlir.addressof @f_manifest
// CHECK: llvm.mlir.addressof @f_image
// Image, and memory.
// PTX: llvm.mlir.constant(0 : i32)
// PTX: llvm.mlir.constant(1 : i32)
// IR: llvm.mlir.constant(2 : i32)
// IR: llvm.mlir.constant(0 : i32)

// CHECK: llvm.func @fa3_host_launch(!llvm.ptr, !llvm.ptr, i64)
// CHECK: func.func private @f(%[[A:[a-z0-9]+]]: memref<1x2x?x64xf16, strided<[?, ?, ?, ?], offset: ?>>
// CHECK: %[[ARGS:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(i32, i32, i64, i32, array<8 x i64>, array<8 x i64>)>
// CHECK: memref.extract_strided_metadata %[[A]]
// CHECK: memref.extract_aligned_pointer_as_index %[[A]]
// A scalar is a double.
// CHECK: arith.extf %arg2 : f32 to f64
// CHECK: %[[PROGRAM:.*]] = llvm.mlir.addressof @f_program
// CHECK: llvm.call @fa3_host_launch(%[[PROGRAM]], %[[ARGS]], %{{.*}}) : (!llvm.ptr, !llvm.ptr, i64) -> ()
// CHECK-NEXT: return
// CHECK-NOT: gpu.module

// By definition nothing is launched.
// LOOPS-LABEL: func.func @caller
// LOOPS: call @f
// LOOPS: func.func private @f(%{{.*}}: memref<1x2x?x64xf16, strided<[?, ?, ?, ?], offset: ?>>
// LOOPS: scf.for
// LOOPS-NOT: fa3_host_launch

!t = tensor<1x2x?x64xf16>
func.func @caller(%q: memref<1x8x2x64xf16>, %k: memref<1x2x8x64xf16>, %scale: f32, %o: memref<1x2x8x64xf16>) {
  attention.call @f(%q, %k, %scale : memref<1x8x2x64xf16>, memref<1x2x8x64xf16>, f32)
    outs(%o : memref<1x2x8x64xf16>) views [[0, 2, 1, 3], [], [], []]
  return
}
func.func private @f(%q: !t, %k: !t, %scale: f32) -> !t {
  %o = attention.forward %q, %k, %k scale %scale mods [#attention.causal] : (!t, !t, !t) -> !t
  return %o : !t
}
