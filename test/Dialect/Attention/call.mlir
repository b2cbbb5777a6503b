// RUN: fa3-opt %s | fa3-opt | FileCheck %s
// RUN: fa3-opt %s --mlir-print-op-generic | fa3-opt | FileCheck %s

func.func private @f(tensor<1x2x?x64xf16>, f32) -> tensor<1x2x?x64xf16>
func.func private @host(memref<1x2x?x64xf16, strided<[?, ?, ?, 1]>>, f32, memref<1x2x?x64xf16, strided<[?, ?, ?, 1]>>)

// CHECK-LABEL: func.func @tensors
// CHECK: attention.call @f(%{{.*}}, %{{.*}} : tensor<1x2x?x64xf16>, f32) outs(%{{.*}} : tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
// The function on memrefs that it becomes, and another order of dimensions.
// CHECK: attention.call @host(%{{.*}}, %{{.*}} : tensor<1x?x2x64xf16>, f32) outs(%{{.*}} : tensor<1x2x?x64xf16>) views {{\[\[}}0, 2, 1, 3], [], []] -> tensor<1x2x?x64xf16>
func.func @tensors(%q: tensor<1x2x?x64xf16>, %t: tensor<1x?x2x64xf16>, %x: f32) {
  %o = attention.call @f(%q, %x : tensor<1x2x?x64xf16>, f32) outs(%q : tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
  %p = attention.call @host(%t, %x : tensor<1x?x2x64xf16>, f32) outs(%q : tensor<1x2x?x64xf16>) views [[0, 2, 1, 3], [], []] -> tensor<1x2x?x64xf16>
  return
}

// CHECK-LABEL: func.func @memrefs
// CHECK: attention.call @host(%{{.*}}, %{{.*}} : memref<1x2x8x64xf16>, f32) outs(%{{.*}} : memref<1x2x?x64xf16>)
func.func @memrefs(%q: memref<1x2x8x64xf16>, %o: memref<1x2x?x64xf16>, %x: f32) {
  attention.call @host(%q, %x : memref<1x2x8x64xf16>, f32) outs(%o : memref<1x2x?x64xf16>)
  return
}

// A cache, which the call changes; the function takes it, and returns nothing.
// CHECK-LABEL: func.func @updates
// CHECK: attention.call @append(%{{.*}} : tensor<1x2x1x64xf16>) updates outs(%{{.*}} : tensor<1x2x8x64xf16>) -> tensor<1x2x8x64xf16>
// CHECK: attention.call @append(%{{.*}} : memref<1x2x1x64xf16>) updates outs(%{{.*}} : memref<1x2x8x64xf16>)
func.func private @append(tensor<1x2x1x64xf16>, tensor<1x2x8x64xf16>)
func.func @updates(%x: tensor<1x2x1x64xf16>, %c: tensor<1x2x8x64xf16>, %m: memref<1x2x1x64xf16>, %d: memref<1x2x8x64xf16>) {
  %r = attention.call @append(%x : tensor<1x2x1x64xf16>) updates outs(%c : tensor<1x2x8x64xf16>) -> tensor<1x2x8x64xf16>
  attention.call @append(%m : memref<1x2x1x64xf16>) updates outs(%d : memref<1x2x8x64xf16>)
  return
}
