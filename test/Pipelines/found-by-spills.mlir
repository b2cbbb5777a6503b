// Mask and score code that test/Fuzz/spills.py found refused: it compiles, gives
// the same answer after every pass, and ptxas spills nothing.

// RUN: split-file %s %t
// DEFINE: %{name} =
// DEFINE: %{dims} =
// DEFINE: %{check} = fa3-run --cpu %t/%{name}.mlir --check-each-pass --dims %{dims} | FileCheck %s --check-prefix=SAME
// DEFINE: %{assemble} = fa3-translate %t/%{name}.mlir '--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline)' --mlir-to-cubin --ptxas-strict -o %t/%{name}.cubin
// SAME: same answer after {{[0-9]+}} passes

// A mask that is never true leaves a kernel without a product, whose tile of 192
// rows is divided among three groups all the same.
// REDEFINE: %{name} = never
// REDEFINE: %{dims} = b=1
// RUN: %{check}
// RUN: fa3-run --cpu %t/never.mlir --output o=%t/o.npy
// RUN: %python -c "import sys; b = open(sys.argv[1], 'rb').read(); assert len(b) == 128 + 2 * 384 * 96 * 2 and not any(b[128:])" %t/o.npy
// RUN: fa3-opt %t/never.mlir --fa3-tile --fa3-specialize | FileCheck %s --check-prefix=NEVER
// RUN: %if ptxas %{ %{assemble} %}
// NEVER: warp.group @math warps 4 replicas 3
// NEVER-NOT: tile.dot
// NEVER: tile.store{{.*}}tensor<64x96xf16>

// A number of 64 bits for each pair takes two registers.
// REDEFINE: %{name} = wide
// REDEFINE: %{dims} = sq=70,sk=100 --fill n=5
// RUN: %{check}
// RUN: %if ptxas %{ %{assemble} %}

// The derivative of a chain is one number for each pair.
// REDEFINE: %{name} = chain
// REDEFINE: %{dims} = sq=70,sk=100
// RUN: %{check}
// RUN: fa3-run --cpu %t/chain.mlir --dims sq=70,sk=100
// RUN: %if ptxas %{ %{assemble} %}

//--- never.mlir
!q = tensor<1x2x384x96xf16>
!k = tensor<1x2x192x96xf16>
func.func @never(%q: !q {tile.name = "q"}, %k: !k {tile.name = "k"}, %v: !k {tile.name = "v"}) -> (!q {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v : (!q, !k, !k) -> !q
    mask_mod (%b, %h, %i, %j) {
      %c60 = arith.constant 60 : index
      %c32 = arith.constant 32 : index
      %r = arith.remsi %i, %c32 : index
      %x = arith.cmpi sle, %r, %j : index
      %y = arith.cmpi eq, %b, %c60 : index
      %z = arith.andi %x, %y : i1
      attention.yield %z : i1
    }
  return %o : !q
}

//--- wide.mlir
!t = tensor<1x2x?x64xbf16>
!n = tensor<?x?xi64>
func.func @wide(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"}, %n: !n {tile.name = "n", tile.dims = ["sq", "sk"]}) -> (!t {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%n : !n) : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      %lo = arith.constant -2.0 : f32
      %hi = arith.constant 2.0 : f32
      %x = arith.maximumf %s, %lo : f32
      %y = arith.minimumf %x, %hi : f32
      %z = arith.mulf %y, %y : f32
      %t = math.tanh %z : f32
      attention.yield %t : f32
    }
    mask_mod (%b, %h, %i, %j) {
      %c7 = arith.constant 7 : index
      %c3 = arith.constant 3 : index
      %w = tensor.extract %n[%i, %j] : !n
      %x = arith.index_cast %w : i64 to index
      %y = arith.divsi %x, %c7 : index
      %far = arith.subi %b, %j : index
      %near = arith.cmpi slt, %y, %far : index
      %z = arith.muli %j, %c3 : index
      %past = arith.cmpi sgt, %z, %h : index
      %or = arith.ori %past, %near : i1
      attention.yield %or : i1
    }
  return %o : !t
}

//--- chain.mlir
!t = tensor<1x2x?x128xf16>
!l = tensor<1x2x?xf32>
func.func @chain(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"}, %o: !t {tile.name = "o"}, %l: !l, %do: !t {tile.name = "do"}) -> (!t {tile.name = "dq"}, !t {tile.name = "dk"}, !t {tile.name = "dv"}) {
  %g:3 = attention.backward %q, %k, %v, %o, %l, %do : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
    score_mod (%s, %b, %h, %i, %j) {
      %eighth = arith.constant 0.125 : f32
      %low = arith.mulf %s, %eighth : f32
      %x = arith.maximumf %s, %low : f32
      %t = math.tanh %x : f32
      %y = arith.addf %x, %t : f32
      attention.yield %y : f32
    }
  return %g#0, %g#1, %g#2 : !t, !t, !t
}
