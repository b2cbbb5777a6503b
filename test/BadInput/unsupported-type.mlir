// RUN: rm -f %t.ptx %t.json
// RUN: not fa3-translate %s --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline{})' --mlir-to-ptx -o %t.ptx 2>&1 | FileCheck %s
// RUN: not ls %t.ptx
// RUN: not ls %t.json
// CHECK: unsupported-type.mlir:9:{{[0-9]+}}: error: 'attention.forward' op expects elements of f16, bf16, f8E4M3FN, f8E5M2 or i8, got 'f32'
// CHECK-NOT: PLEASE submit a bug report

func.func @f(%q: tensor<1x4x?x64xf32>, %k: tensor<1x4x?x64xf32>, %v: tensor<1x4x?x64xf32>) -> tensor<1x4x?x64xf32> {
  %o = attention.forward %q, %k, %v : (tensor<1x4x?x64xf32>, tensor<1x4x?x64xf32>, tensor<1x4x?x64xf32>) -> tensor<1x4x?x64xf32>
  return %o : tensor<1x4x?x64xf32>
}
