// RUN: fa3-opt %s -attention-expand-mods -attention-to-tile -canonicalize -tile-strength-reduce | FileCheck %s
// RUN: fa3-opt %s -attention-expand-mods -attention-to-tile='block-m=192 block-n=112' -canonicalize -tile-strength-reduce | FileCheck %s --check-prefix=WIDE

// What is left of a sum without its row is a number per column, which ptxas
// keeps: 24 registers of a tile of 192 x 96, for which there is room. The
// exponents' addend then has a term of its own.
// CHECK-LABEL: gpu.func @room
// CHECK: %[[MAX:.*]] = tile.reduce max
// CHECK: arith.addf %[[MAX]], %[[TERM:.*]] : tensor<192xf32>
// CHECK: math.fma %[[TERM]], %{{.*}} : tensor<192xf32>
func.func @room(%q: tensor<4x8x2048x96xf16>, %k: tensor<4x8x2048x96xf16>, %v: tensor<4x8x2048x96xf16>, %slopes: tensor<8xf32>) -> tensor<4x8x2048x96xf16> {
  %o = attention.forward %q, %k, %v aux(%slopes : tensor<8xf32>) mods [#attention.causal]
    : (tensor<4x8x2048x96xf16>, tensor<4x8x2048x96xf16>, tensor<4x8x2048x96xf16>) -> tensor<4x8x2048x96xf16>
    score_mod (%s, %b, %h, %i, %j) {
      %c1 = arith.constant 1.0 : f32
      %c0 = arith.constant 0.0 : f32
      %any = tensor.extract %slopes[%h] : tensor<8xf32>
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
  return %o : tensor<4x8x2048x96xf16>
}

// For 28 of 192 x 112 there is none: 68 bytes of spills (ptxas 13.0).
// WIDE-LABEL: gpu.func @none
// WIDE: tile.reduce max
// WIDE-NOT: math.fma {{.*}} : tensor<192xf32>
// WIDE: math.fma {{.*}} : tensor<192x112xf32>
func.func @none(%q: tensor<4x8x2048x80xf16>, %k: tensor<4x8x2048x80xf16>, %v: tensor<4x8x2048x80xf16>, %slopes: tensor<8xf32>) -> tensor<4x8x2048x80xf16> {
  %o = attention.forward %q, %k, %v aux(%slopes : tensor<8xf32>) mods [#attention.causal]
    : (tensor<4x8x2048x80xf16>, tensor<4x8x2048x80xf16>, tensor<4x8x2048x80xf16>) -> tensor<4x8x2048x80xf16>
    score_mod (%s, %b, %h, %i, %j) {
      %c1 = arith.constant 1.0 : f32
      %c0 = arith.constant 0.0 : f32
      %any = tensor.extract %slopes[%h] : tensor<8xf32>
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
  return %o : tensor<4x8x2048x80xf16>
}
