// What 8-bit attention is refused for, with the value and the limit.

// RUN: not fa3-opt %s -split-input-file -fa3-lower-to-nvvm-pipeline -o %t.none 2>&1 | FileCheck %s
// RUN: not fa3-opt %s -split-input-file -fa3-tile="rescale-threshold=9" -o %t.none 2>&1 | FileCheck %s --check-prefix=THRESHOLD
// RUN: not fa3-opt %s -split-input-file -fa3-tile="block-n=48" -o %t.none 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: not ls %t.none

// THRESHOLD: error: 'attention.forward' op has weights of 'f8E4M3FN': expects a rescale-threshold of at most 8{{.*}}, got 9
// STEP: error: 'attention.forward' op has 8-bit operands: expects block-n to be a multiple of 32, got 48

// CHECK: error: 'tile.load.async' op has no lowering to hopper: expects the rows of the array to be a multiple of 4, got 130
func.func @odd(%x: tensor<1x1x130x64xf8E4M3FN>, %v: tensor<1x1x64x130xf8E4M3FN>, %s: tensor<1x1x1xf32>) -> tensor<1x1x130x64xf16> {
  %o = attention.forward %x, %x, %v scales(%s, %s, %s : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) transposed_v
    : (tensor<1x1x130x64xf8E4M3FN>, tensor<1x1x130x64xf8E4M3FN>, tensor<1x1x64x130xf8E4M3FN>) -> tensor<1x1x130x64xf16>
  return %o : tensor<1x1x130x64xf16>
}

// -----

// CHECK: error: 'attention.forward' op has a scale for every 100 rows of k, expects a multiple of the tile's 32
func.func @rows(%x: tensor<1x1x?x64xf8E4M3FN>, %s: tensor<1x1x1xf32>, %b: tensor<1x1x?xf32>) -> tensor<1x1x?x64xf16> {
  %o = attention.forward %x, %x, %x scales(%s, %b, %s : tensor<1x1x1xf32>, tensor<1x1x?xf32>, tensor<1x1x1xf32>) rows [0, 100, 0]
    : (tensor<1x1x?x64xf8E4M3FN>, tensor<1x1x?x64xf8E4M3FN>, tensor<1x1x?x64xf8E4M3FN>) -> tensor<1x1x?x64xf16>
  return %o : tensor<1x1x?x64xf16>
}

// -----

// CHECK: error: 'attention.forward' op has a scale for every token of v, expects one for heads or for blocks of keys
func.func @tokens(%x: tensor<1x1x?x64xf8E4M3FN>, %s: tensor<1x1x1xf32>, %b: tensor<1x1x?xf32>) -> tensor<1x1x?x64xf16> {
  %o = attention.forward %x, %x, %x scales(%s, %s, %b : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x?xf32>) rows [0, 0, 1]
    : (tensor<1x1x?x64xf8E4M3FN>, tensor<1x1x?x64xf8E4M3FN>, tensor<1x1x?x64xf8E4M3FN>) -> tensor<1x1x?x64xf16>
  return %o : tensor<1x1x?x64xf16>
}
