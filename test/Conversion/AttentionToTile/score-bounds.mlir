// RUN: fa3-opt %s -split-input-file -verify-diagnostics -attention-expand-mods '-attention-to-tile=rescale=never' | FileCheck %s --implicit-check-not='reduce max'

!t = tensor<?x?x?x64xbf16>

// exp2(30 * log2(e) * tanh) is from 2^-43 to 2^43 and needs no reference.
// CHECK-LABEL: gpu.func @softcap
// CHECK: %[[T:.*]] = math.tanh
// CHECK: %[[MASKED:.*]] = arith.select %{{.*}}, %[[T]]
// CHECK: %[[ROW:.*]] = arith.constant dense<-0.000000e+00> : tensor<{{[0-9]+}}xf32>
// CHECK: %[[ZERO:.*]] = tile.broadcast %[[ROW]] dim 1
// CHECK: %[[X:.*]] = math.fma %[[MASKED]], %{{.*}}, %[[ZERO]]
// CHECK: %[[P:.*]] = math.exp2 %[[X]]
// CHECK: %[[SUM:.*]] = tile.reduce add %[[P]] dim 1 modulo 8
// CHECK: %[[C:.*]] = arith.truncf %[[P]]
// CHECK-NOT: tile.where
// CHECK: arith.addf %{{.*}}, %[[SUM]]
// CHECK: tile.dot %[[C]]
func.func @softcap(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attention.forward %q, %k, %v mods [#attention.softcap<30.0>, #attention.causal] : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x64xbf16>

// From 2^-72 to 2^72: a reference of 8.13 keeps the largest below 2^64.
// CHECK-LABEL: gpu.func @wider
// CHECK: arith.constant dense<-8.13475{{.*}}> : tensor<{{[0-9]+}}xf32>
func.func @wider(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attention.forward %q, %k, %v mods [#attention.softcap<50.0>] : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x64xbf16>

// More than 2^164 apart: no reference does for all.
func.func @too_wide(%q: !t, %k: !t, %v: !t) -> !t {
  // expected-error@below {{is not to be rescaled: expects scores with bounds at most 1.136761e+02 apart, got -6.000000e+01 to 6.000000e+01}}
  %o = attention.forward %q, %k, %v mods [#attention.softcap<60.0>] : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!h = tensor<?x?x?x64xf16>

// Weights of f16 end at 65504.
func.func @half(%q: !h, %k: !h, %v: !h) -> !h {
  // expected-error@below {{is not to be rescaled: expects weights with the exponents of f32, got 'f16'}}
  %o = attention.forward %q, %k, %v mods [#attention.softcap<30.0>] : (!h, !h, !h) -> !h
  return %o : !h
}

// -----

!t = tensor<?x?x?x64xbf16>

// Clamped from both sides, with some scores masked.
// CHECK-LABEL: gpu.func @clamped
// CHECK: arith.maximumf
func.func @clamped(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attention.forward %q, %k, %v : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      %low = arith.constant -20.0 : f32
      %high = arith.constant 10.0 : f32
      %masked = arith.constant 0xFF800000 : f32
      %x = arith.minimumf %s, %high : f32
      %y = arith.maximumf %x, %low : f32
      %c = arith.cmpi slt, %i, %j : index
      %z = arith.select %c, %masked, %y : f32
      attention.yield %z : f32
    }
  return %o : !t
}

// -----

!t = tensor<?x?x?x64xbf16>

// From one side only.
func.func @one_side(%q: !t, %k: !t, %v: !t) -> !t {
  // expected-error@below {{is not to be rescaled: expects scores with bounds at most 1.136761e+02 apart, got -INF to 1.000000e+01}}
  %o = attention.forward %q, %k, %v : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      %high = arith.constant 10.0 : f32
      %x = arith.minimumf %s, %high : f32
      attention.yield %x : f32
    }
  return %o : !t
}

// -----

!t = tensor<?x?x?x64xbf16>

// Sums, differences and products of what has bounds.
// CHECK-LABEL: gpu.func @arithmetic
// CHECK: math.sin
func.func @arithmetic(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attention.forward %q, %k, %v : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      %c = arith.constant 4.0 : f32
      %x = math.sin %s : f32
      %y = arith.negf %x : f32
      %u = arith.mulf %x, %c : f32
      %w = arith.subf %u, %y : f32
      %z = arith.addf %w, %c : f32
      attention.yield %z : f32
    }
  return %o : !t
}

// -----

!t = tensor<?x?x?x64xbf16>

// A number of the position is one of a million; one that is not finite has no
// bounds at all.
func.func @position(%q: !t, %k: !t, %v: !t) -> !t {
  // expected-error@below {{is not to be rescaled: expects scores with bounds at most 1.136761e+02 apart, got -1.000000e+00 to 1.048577e+06}}
  %o = attention.forward %q, %k, %v : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      %x = math.tanh %s : f32
      %n = arith.index_cast %j : index to i32
      %p = arith.sitofp %n : i32 to f32
      %z = arith.addf %x, %p : f32
      attention.yield %z : f32
    }
  return %o : !t
}

// -----

!t = tensor<?x?x?x64xbf16>

func.func @infinite(%q: !t, %k: !t, %v: !t) -> !t {
  // expected-error@below {{is not to be rescaled: expects scores with bounds at most 1.136761e+02 apart, got -INF to INF}}
  %o = attention.forward %q, %k, %v : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      %inf = arith.constant 0x7F800000 : f32
      %x = math.tanh %s : f32
      %c = arith.cmpi slt, %i, %j : index
      %z = arith.select %c, %x, %inf : f32
      attention.yield %z : f32
    }
  return %o : !t
}
// -----

!t = tensor<?x?x?x64xbf16>

func.func @plain(%q: !t, %k: !t, %v: !t) -> !t {
  // expected-error@below {{got -INF to INF}}
  %o = attention.forward %q, %k, %v : (!t, !t, !t) -> !t
  return %o : !t
}
