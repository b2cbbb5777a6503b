// One-Shot Bufferize takes calls of attention. What they read is not copied, what
// they write is written in place, unless something else reads what is there.
// REQUIRES: plugin
// RUN: %mlir_fa3 --pass-pipeline='builtin.module(one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map},canonicalize,cse,canonicalize)' %s | FileCheck %s

!t = tensor<1x2x8x64xf16>
!h = memref<1x2x8x64xf16, strided<[?, ?, ?, 1]>>
func.func private @f(!h, !h)
func.func private @two(!h, !h, !h)

// CHECK-LABEL: func.func @slices
// CHECK-SAME: (%[[X:.*]]: memref<2x2x8x64xf16>, %[[TO:.*]]: memref<2x2x8x64xf16>)
// CHECK: %[[Q:.*]] = memref.subview %[[X]][1, 0, 0, 0]
// CHECK: %[[O:.*]] = memref.subview %[[TO]][0, 0, 0, 0]
// CHECK: attention.call @f(%[[Q]] : memref<1x2x8x64xf16, strided<[1024, 512, 64, 1], offset: 1024>>) outs(%[[O]] : memref<1x2x8x64xf16, strided<[1024, 512, 64, 1]>>)
// CHECK-NOT: memref.copy
// CHECK: return
func.func @slices(%x: tensor<2x2x8x64xf16>, %to: tensor<2x2x8x64xf16>) -> tensor<2x2x8x64xf16> {
  %q = tensor.extract_slice %x[1, 0, 0, 0] [1, 2, 8, 64] [1, 1, 1, 1] : tensor<2x2x8x64xf16> to !t
  %e = tensor.extract_slice %to[0, 0, 0, 0] [1, 2, 8, 64] [1, 1, 1, 1] : tensor<2x2x8x64xf16> to !t
  %o = attention.call @f(%q : !t) outs(%e : !t) -> !t
  %r = tensor.insert_slice %o into %to[0, 0, 0, 0] [1, 2, 8, 64] [1, 1, 1, 1] : !t into tensor<2x2x8x64xf16>
  return %r : tensor<2x2x8x64xf16>
}

// What is read is not written.
// CHECK-LABEL: func.func @same
// CHECK-SAME: (%[[X:.*]]: memref<1x2x8x64xf16>)
// CHECK: %[[O:.*]] = memref.alloc()
// CHECK-NOT: memref.copy
// CHECK: attention.call @f(%[[X]] : {{.*}}) outs(%[[O]] :
func.func @same(%x: !t) -> !t {
  %o = attention.call @f(%x : !t) outs(%x : !t) -> !t
  return %o : !t
}

// Two results are two arrays, where both begin as one.
// CHECK-LABEL: func.func @results
// CHECK: %[[O:.*]] = memref.alloc()
// CHECK: %[[P:.*]] = memref.alloc()
// CHECK: attention.call @two(%{{.*}} : {{.*}}) outs(%[[A:.*]], %[[B:.*]] : memref<1x2x8x64xf16>, memref<1x2x8x64xf16>)
// CHECK: return %[[A]], %[[B]]
func.func @results(%x: !t) -> (!t, !t) {
  %e = tensor.empty() : !t
  %o, %p = attention.call @two(%x : !t) outs(%e, %e : !t, !t) -> !t, !t
  return %o, %p : !t, !t
}

// What is updated is read: in place, or a copy if somebody reads the old one.
// CHECK-LABEL: func.func @updated
// CHECK-SAME: (%[[X:.*]]: memref<1x2x8x64xf16>, %[[C:.*]]: memref<1x2x8x64xf16>)
// CHECK-NEXT: attention.call @f(%[[X]] : {{.*}}) updates outs(%[[C]] :
// CHECK-NEXT: return %[[C]]
// CHECK-LABEL: func.func @old
// CHECK-SAME: (%[[X:.*]]: memref<1x2x8x64xf16>, %[[C:.*]]: memref<1x2x8x64xf16>)
// CHECK: %[[NEW:.*]] = memref.alloc()
// CHECK-NEXT: memref.copy %[[C]], %[[NEW]]
// CHECK-NEXT: attention.call @f(%[[X]] : {{.*}}) updates outs(%[[NEW]] :
// CHECK-NEXT: return %[[C]], %[[NEW]]
func.func @updated(%x: !t, %c: !t) -> !t {
  %r = attention.call @f(%x : !t) updates outs(%c : !t) -> !t
  return %r : !t
}
func.func @old(%x: !t, %c: !t) -> (!t, !t) {
  %r = attention.call @f(%x : !t) updates outs(%c : !t) -> !t
  return %c, %r : !t, !t
}

// Programs on memrefs: the call is on them, too.
// CHECK-LABEL: func.func @memrefs
// CHECK-SAME: (%[[X:.*]]: memref<1x2x8x64xf16>, %[[TO:.*]]: memref<1x2x8x64xf16>)
// CHECK-NEXT: attention.call @f(%[[X]] : memref<1x2x8x64xf16>) outs(%[[TO]] : memref<1x2x8x64xf16>)
// CHECK-NEXT: return
func.func @memrefs(%m: memref<1x2x8x64xf16>, %to: memref<1x2x8x64xf16>) {
  %x = bufferization.to_tensor %m restrict : memref<1x2x8x64xf16> to !t
  %e = bufferization.to_tensor %to restrict writable : memref<1x2x8x64xf16> to !t
  %o = attention.call @f(%x : !t) outs(%e : !t) -> !t
  bufferization.materialize_in_destination %o in restrict writable %to : (!t, memref<1x2x8x64xf16>) -> ()
  return
}
