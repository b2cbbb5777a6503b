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
    mods [#attention.causal]
    : (tensor<1x2x70x64xf16>, tensor<1x1x100x64xf16>, tensor<1x1x100x64xf16>)
    -> (tensor<1x2x70x64xf16>, tensor<1x2x70xf32>)
    score_mod (%s, %b, %h, %i, %j) {
      %c1 = arith.constant 1.0 : f32
      %c0 = arith.constant 0.0 : f32
      %any = tensor.extract %slopes[%h] : tensor<2xf32>
      %atleast = arith.maximumf %any, %c0 : f32
      %slope = arith.minimumf %atleast, %c1 : f32
      %keys = attention.length key
      %queries = attention.length query
      %off = arith.subi %keys, %queries : index
      %last = arith.addi %i, %off : index
      %n = arith.subi %j, %last : index
      %n32 = arith.index_cast %n : index to i32
      %f = arith.sitofp %n32 : i32 to f32
      %d = math.absf %f : f32
      %p = arith.mulf %slope, %d fastmath<reassoc,contract> : f32
      %z = arith.subf %s, %p fastmath<reassoc,contract> : f32
      attention.yield %z : f32
    }
  return %o, %lse : tensor<1x2x70x64xf16>, tensor<1x2x70xf32>
}
