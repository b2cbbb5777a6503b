// RUN: rm -f %t.ptx %t.json
// RUN: not fa3-translate %s --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline{block-m=128 block-n=256})' --mlir-to-ptx -o %t.ptx 2>&1 | FileCheck %s
// RUN: not ls %t.ptx
// RUN: not ls %t.json
// CHECK: registers.mlir:{{[0-9]+}}:{{[0-9]+}}: error: 'warp.group' op needs about {{[0-9]+}} registers per thread, the limit is 240; choose a smaller tile (block-m, block-n) or more replicas
// CHECK-NOT: PLEASE submit a bug report

func.func @f(%q: tensor<1x4x?x256xf16>, %k: tensor<1x4x?x256xf16>, %v: tensor<1x4x?x256xf16>) -> tensor<1x4x?x256xf16> {
  %o = attention.forward %q, %k, %v : (tensor<1x4x?x256xf16>, tensor<1x4x?x256xf16>, tensor<1x4x?x256xf16>) -> tensor<1x4x?x256xf16>
  return %o : tensor<1x4x?x256xf16>
}
