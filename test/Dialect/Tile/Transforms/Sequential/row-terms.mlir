// RUN: fa3-opt %s -attention-expand-mods -attention-to-tile=block-m=64 -canonicalize -tile-strength-reduce | FileCheck %s
// RUN: %stages %s --pass tile-strength-reduce --dims b=1 --step 4e-3

// Of slope * (i - j) under a causal mask the part of the row moves to the
// maximum and to the exponents' addend; both are numbers per row.
// CHECK: %[[LINE:.*]] = arith.mulf %{{.*}} : tensor<[[N:[0-9]+]]xf32>
// CHECK: tile.broadcast %[[LINE]] dim 0 : tensor<[[N]]xf32> -> tensor<64x[[N]]xf32>
// CHECK: %[[MAX:.*]] = tile.reduce max
// CHECK: arith.addf %[[MAX]], %[[TERM:.*]] : tensor<64xf32>
// CHECK: %[[ADDEND:.*]] = math.fma %[[TERM]], %{{.*}} : tensor<64xf32>
// CHECK: %[[ADDENDS:.*]] = tile.broadcast %[[ADDEND]] dim 1
// CHECK: math.fma %{{.*}}, %{{.*}}, %[[ADDENDS]]
func.func @alibi(%q: tensor<1x2x70x64xf16>, %k: tensor<1x1x100x64xf16>, %v: tensor<1x1x100x64xf16>, %slopes: tensor<2xf32>) -> (tensor<1x2x70x64xf16>, tensor<1x2x70xf32>) {
  %o, %lse = attention.forward %q, %k, %v aux(%slopes : tensor<2xf32>)
    mods [#attention.alibi<aux = 0>, #attention.causal]
    : (tensor<1x2x70x64xf16>, tensor<1x1x100x64xf16>, tensor<1x1x100x64xf16>)
    -> (tensor<1x2x70x64xf16>, tensor<1x2x70xf32>)
  return %o, %lse : tensor<1x2x70x64xf16>, tensor<1x2x70xf32>
}
