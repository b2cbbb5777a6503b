// RUN: rm -f %t.ptx %t.json
// RUN: not fa3-translate %s --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline{})' --mlir-to-ptx -o %t.ptx 2>&1 | FileCheck %s
// RUN: not ls %t.ptx
// RUN: not ls %t.json
// CHECK: aux-undeclared.mlir:10:{{[0-9]+}}: error: 'tensor.extract' op in 'score_mod' reads a tensor that is not an auxiliary operand
// CHECK-NOT: PLEASE submit a bug report

func.func @f(%q: tensor<1x4x?x64xf16>, %k: tensor<1x4x?x64xf16>, %v: tensor<1x4x?x64xf16>, %a: tensor<4xf32>) -> tensor<1x4x?x64xf16> {
  %o = attention.forward %q, %k, %v : (tensor<1x4x?x64xf16>, tensor<1x4x?x64xf16>, tensor<1x4x?x64xf16>) -> tensor<1x4x?x64xf16> score_mod (%s, %b, %h, %i, %j) {
      %x = tensor.extract %a[%h] : tensor<4xf32>
      %y = arith.addf %s, %x : f32
      attention.yield %y : f32
    }
  return %o : tensor<1x4x?x64xf16>
}
