// RUN: rm -f %t.ptx %t.json
// RUN: not fa3-translate %s --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline{})' --mlir-to-ptx -o %t.ptx 2>&1 | FileCheck %s
// RUN: not ls %t.ptx
// RUN: not ls %t.json
// CHECK: head-dim-limit.mlir:9:{{[0-9]+}}: error: 'attention.forward' op expects a head dim from 1 to 576, that of q is 584
// CHECK-NOT: PLEASE submit a bug report

func.func @f(%q: tensor<1x4x?x584xf16>, %k: tensor<1x4x?x584xf16>, %v: tensor<1x4x?x584xf16>) -> tensor<1x4x?x584xf16> {
  %o = attention.forward %q, %k, %v : (tensor<1x4x?x584xf16>, tensor<1x4x?x584xf16>, tensor<1x4x?x584xf16>) -> tensor<1x4x?x584xf16>
  return %o : tensor<1x4x?x584xf16>
}
