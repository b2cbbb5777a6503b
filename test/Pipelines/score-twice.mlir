// Score code that reads the score more than once, at the head dims where the
// old and the new score were counted as two tiles: it compiles with the tile
// that code without such reads gets (gelu with one of 64 keys, not 80), the same
// answer after every pass, and ptxas spills nothing.

// RUN: split-file %s %t
// DEFINE: %{name} =
// DEFINE: %{dims} =
// DEFINE: %{check} = fa3-run --cpu %t/%{name}.mlir --check-each-pass --completion=random --schedule-seed=2 --dims b=1,h=1,hk=1,%{dims} | FileCheck %s --check-prefix=SAME
// DEFINE: %{tile} = fa3-opt %t/%{name}.mlir -fa3-tile | FileCheck %t/%{name}.mlir
// DEFINE: %{assemble} = fa3-translate %t/%{name}.mlir '--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline)' --mlir-to-cubin --ptxas-strict -o %t/%{name}.cubin

// REDEFINE: %{name} = leaky
// REDEFINE: %{dims} = sq=150,sk=140
// RUN: %{check}
// RUN: %{tile}
// RUN: %if ptxas %{ %{assemble} %}

// REDEFINE: %{name} = square
// REDEFINE: %{dims} = sq=40,sk=100
// RUN: %{check}
// RUN: %{tile}
// RUN: %if ptxas %{ %{assemble} %}

// REDEFINE: %{name} = tanh
// REDEFINE: %{dims} = sq=40,sk=100
// RUN: %{check}
// RUN: %{tile}
// RUN: %if ptxas %{ %{assemble} %}

// REDEFINE: %{name} = gelu
// REDEFINE: %{dims} = sq=40,sk=100
// RUN: %{check}
// RUN: %{tile}
// RUN: %if ptxas %{ %{assemble} %}

// REDEFINE: %{name} = horner
// REDEFINE: %{dims} = sq=70,sk=100
// RUN: %{check}
// RUN: %{tile}
// RUN: %if ptxas %{ %{assemble} %}

// SAME: same answer after {{[0-9]+}} passes

//--- leaky.mlir
!q64 = tensor<?x?x?x64xf16>

// CHECK-LABEL: gpu.func @leaky
// CHECK: tile.dot {{.*}} -> tensor<256x64xf32>
func.func @leaky(%q: !q64 {tile.name = "q"}, %k: !q64 {tile.name = "k"}, %v: !q64 {tile.name = "v"}) -> !q64 {
  %o = attention.forward %q, %k, %v : (!q64, !q64, !q64) -> !q64 score_mod (%s, %b, %h, %i, %j) {
    %zero = arith.constant 0.0 : f32
    %slope = arith.constant 0.1 : f32
    %scaled = arith.mulf %s, %slope : f32
    %positive = arith.cmpf ogt, %s, %zero : f32
    %r = arith.select %positive, %s, %scaled : f32
    attention.yield %r : f32
  }
  return %o : !q64
}

//--- square.mlir
!q128 = tensor<?x?x?x128xbf16>

// CHECK-LABEL: gpu.func @square
// CHECK: tile.dot {{.*}} -> tensor<192x80xf32>
func.func @square(%q: !q128 {tile.name = "q"}, %k: !q128 {tile.name = "k"}, %v: !q128 {tile.name = "v"}) -> !q128 {
  %o = attention.forward %q, %k, %v : (!q128, !q128, !q128) -> !q128 score_mod (%s, %b, %h, %i, %j) {
    %a = arith.constant 0.1 : f32
    %squared = arith.mulf %s, %s : f32
    %scaled = arith.mulf %squared, %a : f32
    %r = arith.addf %s, %scaled : f32
    attention.yield %r : f32
  }
  return %o : !q128
}

//--- tanh.mlir
!q128 = tensor<?x?x?x128xbf16>

// CHECK-LABEL: gpu.func @tanh
// CHECK: tile.dot {{.*}} -> tensor<192x80xf32>
func.func @tanh(%q: !q128 {tile.name = "q"}, %k: !q128 {tile.name = "k"}, %v: !q128 {tile.name = "v"}) -> !q128 {
  %o = attention.forward %q, %k, %v : (!q128, !q128, !q128) -> !q128 score_mod (%s, %b, %h, %i, %j) {
    %t = math.tanh %s : f32
    %r = arith.mulf %s, %t : f32
    attention.yield %r : f32
  }
  return %o : !q128
}

//--- gelu.mlir
!q128 = tensor<?x?x?x128xbf16>

// CHECK-LABEL: gpu.func @gelu
// CHECK: tile.dot {{.*}} -> tensor<192x64xf32>
func.func @gelu(%q: !q128 {tile.name = "q"}, %k: !q128 {tile.name = "k"}, %v: !q128 {tile.name = "v"}) -> !q128 {
  %o = attention.forward %q, %k, %v mods [#attention.causal] : (!q128, !q128, !q128) -> !q128 score_mod (%s, %b, %h, %i, %j) {
    %cubic = arith.constant 0.044715 : f32
    %root = arith.constant 0.79788456 : f32
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %s2 = arith.mulf %s, %s : f32
    %s3 = arith.mulf %s2, %s : f32
    %c = arith.mulf %s3, %cubic : f32
    %sum = arith.addf %s, %c : f32
    %argument = arith.mulf %sum, %root : f32
    %t = math.tanh %argument : f32
    %t1 = arith.addf %t, %one : f32
    %weight = arith.mulf %t1, %half : f32
    %r = arith.mulf %s, %weight : f32
    attention.yield %r : f32
  }
  return %o : !q128
}

//--- horner.mlir
!q64 = tensor<?x?x?x64xf16>

// CHECK-LABEL: gpu.func @horner
// CHECK: tile.dot {{.*}} -> tensor<256x64xf32>
func.func @horner(%q: !q64 {tile.name = "q"}, %k: !q64 {tile.name = "k"}, %v: !q64 {tile.name = "v"}) -> !q64 {
  %o = attention.forward %q, %k, %v : (!q64, !q64, !q64) -> !q64 score_mod (%s, %b, %h, %i, %j) {
    %a3 = arith.constant 0.01 : f32
    %a2 = arith.constant 0.02 : f32
    %a1 = arith.constant 0.3 : f32
    %a0 = arith.constant 0.9 : f32
    %m3 = arith.mulf %s, %a3 : f32
    %p3 = arith.addf %m3, %a2 : f32
    %m2 = arith.mulf %p3, %s : f32
    %p2 = arith.addf %m2, %a1 : f32
    %m1 = arith.mulf %p2, %s : f32
    %p1 = arith.addf %m1, %a0 : f32
    %r = arith.mulf %p1, %s : f32
    attention.yield %r : f32
  }
  return %o : !q64
}
