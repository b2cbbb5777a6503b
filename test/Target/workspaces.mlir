// Memory that a host function allocates becomes workspaces of the manifest:
// their shape by the arguments, their names unique, and kernels take them as
// they take arguments.

// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline | fa3-translate --mlir-to-ptx -o %t.ptx
// RUN: FileCheck %s < %t.json

// CHECK: "args": [
// CHECK: "name": "x"
// CHECK: "name": "x8"
// CHECK: "name": "x_scale"
// CHECK-NOT: "name"
// CHECK: "launches": [
// CHECK: "kernel": "quantize_x_maxima"
// CHECK: "grid": {{.*}}ceildiv(x.shape[2], 1024) * x.shape[1] * x.shape[0]
// CHECK: "source": "x_maxima"
// CHECK: "kernel": "quantize_x_scales"
// CHECK: "source": "x_maxima"
// CHECK: "source": "x_scale"
// CHECK: "kernel": "quantize_x_quantize"
// CHECK: "source": "x8"
// CHECK: "workspaces": [
// CHECK-NEXT: {
// CHECK-NEXT: "name": "x_maxima",
// CHECK-NEXT: "type": "f32",
// CHECK-NEXT: "shape": [
// CHECK-NEXT: "1",
// CHECK-NEXT: "x.shape[1]",
// CHECK-NEXT: "1",
// CHECK-NEXT: "ceildiv(x.shape[2], 1024) * 64 * x.shape[0]"
// CHECK-NEXT: ]
// CHECK-NEXT: }
// CHECK-NEXT: ],
func.func @quantize(%x: tensor<?x?x?x64xf16> {tile.name = "x"}) -> (tensor<?x?x?x64xf8E4M3FN>, tensor<1x?x1xf32>) {
  %y, %s = attention.quantize %x : tensor<?x?x?x64xf16> -> tensor<?x?x?x64xf8E4M3FN>, tensor<1x?x1xf32>
  return %y, %s : tensor<?x?x?x64xf8E4M3FN>, tensor<1x?x1xf32>
}
