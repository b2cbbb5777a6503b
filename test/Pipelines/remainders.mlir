// A mask of three remainders of keys, joined by maxima and minima: the same
// answer after every pass, no spills with the default tile and none with others.

// RUN: fa3-run --cpu %s --check-each-pass --dims b=1,sq=70,sk=100 | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// DEFINE: %{options} =
// DEFINE: %{assemble} = fa3-translate %s '--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline{%{options}})' --mlir-to-cubin --ptxas-strict -o %t.cubin
// RUN: %if ptxas %{ %{assemble} %}
// REDEFINE: %{options} = block-n=32
// RUN: %if ptxas %{ %{assemble} %}
// REDEFINE: %{options} = block-n=64
// RUN: %if ptxas %{ %{assemble} %}

func.func @f(%q: tensor<?x2x?x64xbf16> {tile.name = "q"}, %k: tensor<?x2x?x64xbf16> {tile.name = "k"}, %v: tensor<?x2x?x64xbf16> {tile.name = "v"}) -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
    mask_mod (%b, %h, %i, %j) {
      %zero = arith.constant 0 : index
      %c7 = arith.constant 7 : index
      %c5 = arith.constant 5 : index
      %c50 = arith.constant 50 : index
      %c40 = arith.constant 40 : index
      %qx = arith.remsi %i, %c50 : index
      %kx = arith.remsi %j, %c40 : index
      %d = arith.subi %qx, %kx : index
      %s = arith.remsi %j, %c7 : index
      %n = arith.subi %zero, %s : index
      %m1 = arith.maxsi %d, %n : index
      %m2 = arith.maxsi %m1, %c5 : index
      %e = arith.subi %zero, %kx : index
      %m3 = arith.minsi %qx, %e : index
      %m4 = arith.minsi %m3, %n : index
      %sum = arith.addi %m2, %m4 : index
      %r = arith.remsi %sum, %c5 : index
      %keep = arith.cmpi sle, %r, %zero : index
      attention.yield %keep : i1
    }
  return %o : tensor<?x2x?x64xbf16>
}
