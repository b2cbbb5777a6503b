// RUN: rm -f %t.ptx %t.json
// RUN: not fa3-translate %s --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline{})' --mlir-to-ptx -o %t.ptx 2>&1 | FileCheck %s
// RUN: not ls %t.ptx
// RUN: not ls %t.json
// CHECK: rank.mlir:9:{{[0-9]+}}: error: 'attention.forward' op expects q of rank 4, got 3
// CHECK-NOT: PLEASE submit a bug report

func.func @f(%q: tensor<4x?x64xf16>, %k: tensor<4x?x64xf16>, %v: tensor<4x?x64xf16>) -> tensor<4x?x64xf16> {
  %o = attention.forward %q, %k, %v : (tensor<4x?x64xf16>, tensor<4x?x64xf16>, tensor<4x?x64xf16>) -> tensor<4x?x64xf16>
  return %o : tensor<4x?x64xf16>
}
