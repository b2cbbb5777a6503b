// Functions of math, most of them without an instruction: the same answer after
// every pass, code that LLVM writes, and the verifier's list is what works.

// RUN: fa3-run --cpu --check-each-pass %s --function=floats | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass %s --function=integers | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass %s --function=halves | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline='tuning-table=none' | FileCheck %s --check-prefix=NVVM
// NVVM-NOT: math.

!x = tensor<1x1x40x64xf16>
func.func @floats(%q: !x {tile.name = "q"}, %k: !x {tile.name = "k"}, %v: !x {tile.name = "v"}) -> (!x {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v : (!x, !x, !x) -> !x
    score_mod (%s, %b, %h, %i, %j) {
      %two = arith.constant 2.5 : f32
      %half = arith.constant 0.5 : f32
      %round = math.round %s : f32
      %abs = math.absf %round : f32
      %log1p = math.log1p %abs : f32
      %tanh = math.tanh %log1p : f32
      %small = arith.mulf %tanh, %half : f32
      %expm1 = math.expm1 %small : f32
      %asin = math.asin %expm1 : f32
      %sinh = math.sinh %asin : f32
      %cosh = math.cosh %sinh : f32
      %cbrt = math.cbrt %cosh : f32
      %atan = math.atan %cbrt : f32
      %less = arith.mulf %atan, %half : f32
      %tan = math.tan %less : f32
      %asinh = math.asinh %tan : f32
      %acos = math.acos %asinh : f32
      %erf = math.erf %acos : f32
      %below = arith.mulf %erf, %half : f32
      %atanh = math.atanh %below : f32
      %above = arith.addf %atanh, %two : f32
      %acosh = math.acosh %above : f32
      %powf = math.powf %acosh, %two : f32
      %atan2 = math.atan2 %powf, %two : f32
      attention.yield %atan2 : f32
    }
  return %o : !x
}

// Division by 0 is division by 1.
func.func @integers(%q: !x {tile.name = "q"}, %k: !x {tile.name = "k"}, %v: !x {tile.name = "v"}) -> (!x {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v : (!x, !x, !x) -> !x
    score_mod (%s, %b, %h, %i, %j) {
      %c5 = arith.constant 5 : index
      %r = arith.remsi %j, %c5 : index
      %rest = arith.remui %i, %r : index
      %ceil = arith.ceildivsi %i, %r : index
      %floor = arith.floordivsi %j, %b : index
      %div = arith.divsi %ceil, %r : index
      %a = arith.addi %rest, %floor : index
      %c = arith.addi %a, %div : index
      %d = arith.index_cast %c : index to i32
      %f = arith.sitofp %d : i32 to f32
      %scale = arith.constant 1.0e-4 : f32
      %g = arith.mulf %f, %scale : f32
      %x = arith.addf %s, %g : f32
      attention.yield %x : f32
    }
  return %o : !x
}

func.func @halves(%q: !x {tile.name = "q"}, %k: !x {tile.name = "k"}, %v: !x {tile.name = "v"}) -> (!x {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v : (!x, !x, !x) -> !x
    score_mod (%s, %b, %h, %i, %j) {
      %n = arith.truncf %s : f32 to f16
      %e = math.erf %n : f16
      %w = arith.extf %e : f16 to f32
      attention.yield %w : f32
    }
  return %o : !x
}
