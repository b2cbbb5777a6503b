// A program on memrefs: what is around attention gives it memory and takes some.
// Views are strides, the result goes to where the program has it, also there in
// another order; memory that attention reads is not what it writes.
// REQUIRES: mlir-runner
// RUN: %embedding --kernels 1
// RUN: cat %S/Inputs/prelude.mlir %s | fa3-opt -attention-outline | FileCheck %s

// Parts of packed memory by memref.subview, reinterpret_cast and collapse_shape,
// transposed, and a part of (b, s, h * d).
// CHECK-LABEL: func.func @views
// CHECK-NOT: memref.copy
// CHECK-NOT: memref.alloc
// CHECK: attention.call @views_attention(
// CHECK-SAME: memref<2x2x20x16xf16, strided<[1920, 16, 96, 1]>>, memref<2x2x20x16xf16, strided<[1920, 16, 96, 1], offset: 32>>, memref<2x2x20x16xf16, strided<[1920, 16, 96, 1], offset: 64>>)
// CHECK-SAME: outs({{.*}} : memref<2x2x20x16xf16, strided<[640, 16, 32, 1]>>)
// CHECK-NEXT: return

// What is read is written, so that the result is copied there.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME: (%[[X:.*]]: memref<2x2x20x16xf16>)
// CHECK: %[[O:.*]] = memref.alloc() {alignment = 64 : i64} : memref<2x2x20x16xf16>
// CHECK: attention.call @views_attention(%[[X]], %[[X]], %[[X]] : {{.*}}) outs(%[[O]] :
// CHECK-NEXT: memref.copy %[[O]], %[[X]]

// Elements of rows are apart.
// CHECK-LABEL: func.func @moved
// CHECK: %[[T:.*]] = memref.transpose
// CHECK: %[[COPY:.*]] = memref.alloc() {alignment = 64 : i64} : memref<2x2x20x16xf16>
// CHECK: memref.copy %[[T]], %[[COPY]]
// CHECK-NOT: memref.copy
// CHECK: attention.call @views_attention(%[[COPY]], %[[COPY]], %[[COPY]] :

!t = tensor<2x2x20x16xf16>
!m = memref<2x2x20x16xf16>
!part = memref<2x2x20x16xf16, strided<[1920, 16, 96, 1], offset: ?>>
func.func @views(%packed: memref<2x20x3x2x16xf16>, %to: memref<2x20x32xf16>) {
  %q0 = memref.subview %packed[0, 0, 0, 0, 0] [2, 20, 1, 2, 16] [1, 1, 1, 1, 1]
    : memref<2x20x3x2x16xf16> to memref<2x20x2x16xf16, strided<[1920, 96, 16, 1]>>
  %q1 = memref.transpose %q0 (b, s, h, d) -> (b, h, s, d)
    : memref<2x20x2x16xf16, strided<[1920, 96, 16, 1]>> to memref<2x2x20x16xf16, strided<[1920, 16, 96, 1]>>
  %k1 = memref.reinterpret_cast %packed to offset: [32], sizes: [2, 2, 20, 16], strides: [1920, 16, 96, 1]
    : memref<2x20x3x2x16xf16> to memref<2x2x20x16xf16, strided<[1920, 16, 96, 1], offset: 32>>
  %rows = memref.collapse_shape %packed [[0], [1], [2, 3, 4]] : memref<2x20x3x2x16xf16> into memref<2x20x96xf16>
  %v0 = memref.subview %rows[0, 0, 64] [2, 20, 32] [1, 1, 1]
    : memref<2x20x96xf16> to memref<2x20x32xf16, strided<[1920, 96, 1], offset: 64>>
  %v1 = memref.expand_shape %v0 [[0], [1], [2, 3]] output_shape [2, 20, 2, 16]
    : memref<2x20x32xf16, strided<[1920, 96, 1], offset: 64>> into memref<2x20x2x16xf16, strided<[1920, 96, 16, 1], offset: 64>>
  %v2 = memref.transpose %v1 (b, s, h, d) -> (b, h, s, d)
    : memref<2x20x2x16xf16, strided<[1920, 96, 16, 1], offset: 64>> to memref<2x2x20x16xf16, strided<[1920, 16, 96, 1], offset: 64>>
  %o0 = memref.expand_shape %to [[0], [1], [2, 3]] output_shape [2, 20, 2, 16]
    : memref<2x20x32xf16> into memref<2x20x2x16xf16>
  %o1 = memref.transpose %o0 (b, s, h, d) -> (b, h, s, d)
    : memref<2x20x2x16xf16> to memref<2x2x20x16xf16, strided<[640, 16, 32, 1]>>
  %q = bufferization.to_tensor %q1 restrict : memref<2x2x20x16xf16, strided<[1920, 16, 96, 1]>> to !t
  %k = bufferization.to_tensor %k1 restrict : memref<2x2x20x16xf16, strided<[1920, 16, 96, 1], offset: 32>> to !t
  %v = bufferization.to_tensor %v2 restrict : memref<2x2x20x16xf16, strided<[1920, 16, 96, 1], offset: 64>> to !t
  %o = attention.forward %q, %k, %v mods [#attention.causal] : (!t, !t, !t) -> !t
  bufferization.materialize_in_destination %o in restrict writable %o1
    : (!t, memref<2x2x20x16xf16, strided<[640, 16, 32, 1]>>) -> ()
  return
}
func.func @in_place(%x: !m) {
  %q = bufferization.to_tensor %x restrict : !m to !t
  %o = attention.forward %q, %q, %q mods [#attention.causal] : (!t, !t, !t) -> !t
  bufferization.materialize_in_destination %o in writable %x : (!t, !m) -> ()
  return
}
func.func @moved(%columns: memref<2x2x16x20xf16>, %to: !m) {
  %rows = memref.transpose %columns (b, h, d, s) -> (b, h, s, d)
    : memref<2x2x16x20xf16> to memref<2x2x20x16xf16, strided<[640, 320, 1, 20]>>
  %q = bufferization.to_tensor %rows restrict : memref<2x2x20x16xf16, strided<[640, 320, 1, 20]>> to !t
  %o = attention.forward %q, %q, %q mods [#attention.causal] : (!t, !t, !t) -> !t
  bufferization.materialize_in_destination %o in restrict writable %to : (!t, !m) -> ()
  return
}

func.func private @get(%n: index, %seed: index) -> memref<?xf16> {
  %a = call @noise(%n, %seed) : (index, index) -> tensor<?xf16>
  %b = bufferization.to_buffer %a : tensor<?xf16> to memref<?xf16>
  %c = memref.alloc(%n) : memref<?xf16>
  memref.copy %b, %c : memref<?xf16> to memref<?xf16>
  return %c : memref<?xf16>
}
func.func private @show(%x: memref<?xf16>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf16>
  %copy = memref.alloc(%n) : memref<?xf16>
  memref.copy %x, %copy : memref<?xf16> to memref<?xf16>
  %t = bufferization.to_tensor %copy restrict : memref<?xf16> to tensor<?xf16>
  call @print(%t) : (tensor<?xf16>) -> ()
  return
}
func.func @main() {
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  %n = arith.constant 1280 : index
  %n3 = arith.constant 3840 : index
  %a = call @get(%n3, %c5) : (index, index) -> memref<?xf16>
  %b = memref.cast %a : memref<?xf16> to memref<3840xf16>
  %packed = memref.expand_shape %b [[0, 1, 2, 3, 4]] output_shape [2, 20, 3, 2, 16]
    : memref<3840xf16> into memref<2x20x3x2x16xf16>
  %rows = memref.alloc() : memref<2x20x32xf16>
  call @views(%packed, %rows) : (memref<2x20x3x2x16xf16>, memref<2x20x32xf16>) -> ()
  %r = memref.collapse_shape %rows [[0, 1, 2]] : memref<2x20x32xf16> into memref<1280xf16>
  %r0 = memref.cast %r : memref<1280xf16> to memref<?xf16>
  call @show(%r0) : (memref<?xf16>) -> ()

  %x = call @get(%n, %c1) : (index, index) -> memref<?xf16>
  %x0 = memref.cast %x : memref<?xf16> to memref<1280xf16>
  %x1 = memref.expand_shape %x0 [[0, 1, 2, 3]] output_shape [2, 2, 20, 16] : memref<1280xf16> into !m
  call @in_place(%x1) : (!m) -> ()
  call @show(%x) : (memref<?xf16>) -> ()

  %y = call @get(%n, %c7) : (index, index) -> memref<?xf16>
  %y0 = memref.cast %y : memref<?xf16> to memref<1280xf16>
  %y1 = memref.expand_shape %y0 [[0, 1, 2, 3]] output_shape [2, 2, 16, 20] : memref<1280xf16> into memref<2x2x16x20xf16>
  call @moved(%y1, %x1) : (memref<2x2x16x20xf16>, !m) -> ()
  call @show(%x) : (memref<?xf16>) -> ()
  return
}
