// RUN: rm -f %t.ptx %t.json
// RUN: not fa3-translate %s --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline{block-m=128 block-n=64 smem-budget=100000})' --mlir-to-ptx -o %t.ptx 2>&1 | FileCheck %s
// RUN: not ls %t.ptx
// RUN: not ls %t.json
// CHECK: shared-memory.mlir:{{[0-9]+}}:{{[0-9]+}}: error: 'gpu.func' op needs {{[0-9]+}} bytes of shared memory for its rings, the limit is 100000
// CHECK-NOT: PLEASE submit a bug report

func.func @f(%q: tensor<1x4x?x256xf16>, %k: tensor<1x4x?x256xf16>, %v: tensor<1x4x?x256xf16>) -> tensor<1x4x?x256xf16> {
  %o = attention.forward %q, %k, %v : (tensor<1x4x?x256xf16>, tensor<1x4x?x256xf16>, tensor<1x4x?x256xf16>) -> tensor<1x4x?x256xf16>
  return %o : tensor<1x4x?x256xf16>
}
