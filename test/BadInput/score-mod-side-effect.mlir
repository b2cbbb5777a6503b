// RUN: rm -f %t.ptx %t.json
// RUN: not fa3-translate %s --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline{})' --mlir-to-ptx -o %t.ptx 2>&1 | FileCheck %s
// RUN: not ls %t.ptx
// RUN: not ls %t.json
// CHECK: score-mod-side-effect.mlir:10:{{[0-9]+}}: error: 'memref.store' op is not allowed in 'score_mod', which holds pure elementwise scalar operations
// CHECK-NOT: PLEASE submit a bug report

func.func @f(%q: tensor<1x4x?x64xf16>, %k: tensor<1x4x?x64xf16>, %v: tensor<1x4x?x64xf16>, %m: memref<f32>) -> tensor<1x4x?x64xf16> {
  %o = attention.forward %q, %k, %v : (tensor<1x4x?x64xf16>, tensor<1x4x?x64xf16>, tensor<1x4x?x64xf16>) -> tensor<1x4x?x64xf16> score_mod (%s, %b, %h, %i, %j) {
      memref.store %s, %m[] : memref<f32>
      attention.yield %s : f32
    }
  return %o : tensor<1x4x?x64xf16>
}
