// An extent that the array does not have, which is read by upstream's
// canonicalization before it looks.
// RUN: not fa3-opt --fa3-lower-to-nvvm-pipeline %s -o /dev/null 2>&1 | FileCheck %s
// RUN: not fa3-opt --fa3-tile %s -o /dev/null 2>&1 | FileCheck %s
// CHECK: extent.mlir:10:{{[0-9]+}}: error: 'memref.dim' op asks for dimension -2147483648 of a memref of rank 2
// CHECK-NOT: PLEASE submit a bug report

func.func @f(%a: memref<?x96xbf16>) -> index {
  %far = arith.constant -2147483648 : index
  %n = memref.dim %a, %far : memref<?x96xbf16>
  return %n : index
}
