// The output is the sum of products that start from zero each; the factor of the
// growth of the row maxima is part of the sum, so nothing is conditional.
// RUN: fa3-opt %s -attention-to-tile="two-level-accumulation=true block-n=96" | FileCheck %s
// RUN: fa3-opt %s -attention-to-tile="two-level-accumulation=true rescale=eager block-n=96" | FileCheck %s

// With several steps between additions the products so far are carried; every
// third step they go to the sum and the next start from zero. Both are rescaled
// where a maximum has grown.
// RUN: fa3-opt %s -attention-to-tile="two-level-accumulation=true two-level-steps=3 block-n=96" | FileCheck %s --check-prefix=STEPS

// Narrow heads without a mask take 8 unless told otherwise, with a mask one.
// RUN: sed 's/x128xf/x64xf/g' %s | fa3-opt -attention-to-tile="two-level-accumulation=true" | FileCheck %s --check-prefix=NARROW
// RUN: sed 's/x128xf/x64xf/g; s/, %%vs : !scale, !scale, !scale)/, %%vs : !scale, !scale, !scale) mods [#attention.causal]/' %s | fa3-opt -attention-expand-mods -attention-to-tile="two-level-accumulation=true" | FileCheck %s --check-prefix=MASKED
// NARROW: arith.remui %{{.*}}, %c8
// MASKED: arith.cmpi sle
// MASKED-NOT: arith.remui

// Negative ones there are none.
// RUN: not fa3-opt %s -attention-to-tile="two-level-steps=-1" -o /dev/null 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: for the --two-level-steps option: expects a number from 0 on, got -1

// STEPS-LABEL: gpu.func @forward
// STEPS: scf.for %[[STEP:[a-z0-9]+]] = {{.*}} iter_args(%[[ACC:[a-z0-9]+]] = {{[^,]*}}, {{[^,]*}}, {{[^,]*}}, %[[PRODUCTS:[a-z0-9]+]] =
// STEPS: %[[REST:.*]] = arith.remui %[[STEP]], %c3
// STEPS: %[[DUE:.*]] = arith.cmpi eq, %[[REST]], %c0
// STEPS: %[[ROWS:.*]] = tensor.splat %[[DUE]] : tensor<128xi1>
// STEPS: %[[ADDED:.*]]:2 = tile.where %[[ROWS]] else %[[ACC]], %[[PRODUCTS]]
// STEPS: %[[SUM:.*]] = arith.addf %[[ACC]], %[[PRODUCTS]]
// STEPS: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<128x128xf32>
// STEPS: tile.yield %[[SUM]], %[[ZERO]]
// STEPS: %[[RESCALED:.*]]:3 = tile.where %{{.*}} else %[[ADDED]]#1, %[[ADDED]]#0,
// STEPS: tile.dot %{{.*}}, %{{.*}}, %[[RESCALED]]#0 lhs mk rhs kn

// In the pipelined loop the factor crosses the stages as a row, not as a tile.
// RUN: fa3-opt %s -fa3-tile="two-level-accumulation=true block-n=96" -fa3-specialize -fa3-pipeline | FileCheck %s --check-prefix=PIPELINED

// What that needs in registers is too much for wide heads.
// RUN: sed 's/x128xf/x256xf/g' %s | not fa3-opt -fa3-tile=two-level-accumulation=true -fa3-specialize -fa3-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=WIDE
// WIDE: error: 'warp.group' op needs about {{[0-9]+}} registers per thread, the limit is 240

!operand = tensor<?x?x?x128xf8E4M3FN>
!result = tensor<?x?x?x128xf16>
!scale = tensor<1x1x1xf32>

// CHECK-LABEL: gpu.func @forward
// CHECK: scf.for {{.*}} iter_args(%[[ACC:[a-z0-9]+]] =
// CHECK-NOT: tile.where
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<128x128xf32>
// CHECK: %[[PRODUCT:.*]] = tile.dot {{.*}}, %[[ZERO]] lhs mk rhs kn
// CHECK: %[[FACTOR:.*]] = tile.broadcast {{.*}} dim 1 : tensor<128xf32> -> tensor<128x128xf32>
// CHECK: math.fma %[[ACC]], %[[FACTOR]], %[[PRODUCT]]

// PIPELINED-LABEL: warp.group @math
// PIPELINED: scf.for {{.*}} -> (tensor<64x128xf32>, tensor<64xf32>, tensor<64x8xf32>, !warp.cursor<read>, !warp.cursor<read>, !warp.done, tensor<64x96xf8E4M3FN>, tensor<64xf32>)
// PIPELINED: %[[SUM:.*]], %{{.*}} = tile.await {{.*}} keep
// PIPELINED: %[[ROWS:.*]] = tile.broadcast
// PIPELINED: math.fma %{{.*}}, %[[ROWS]], %[[SUM]]
func.func @forward(%q: !operand, %k: !operand, %v: !operand, %qs: !scale, %ks: !scale, %vs: !scale) -> !result {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !scale, !scale, !scale) : (!operand, !operand, !operand) -> !result
  return %o : !result
}
