// RUN: rm -f %t.ptx %t.json
// RUN: not fa3-translate %s --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline{})' --mlir-to-ptx -o %t.ptx 2>&1 | FileCheck %s
// RUN: not ls %t.ptx
// RUN: not ls %t.json
// CHECK: score-mod-signature.mlir:9:{{[0-9]+}}: error: 'attention.forward' op expects 'score_mod' to yield 'f32'
// CHECK-NOT: PLEASE submit a bug report

func.func @f(%q: tensor<1x4x?x64xf16>, %k: tensor<1x4x?x64xf16>, %v: tensor<1x4x?x64xf16>) -> tensor<1x4x?x64xf16> {
  %o = attention.forward %q, %k, %v : (tensor<1x4x?x64xf16>, tensor<1x4x?x64xf16>, tensor<1x4x?x64xf16>) -> tensor<1x4x?x64xf16> score_mod (%s, %b, %h, %i, %j) {
      %x = arith.extf %s : f32 to f64
      attention.yield %x : f64
    }
  return %o : tensor<1x4x?x64xf16>
}
