// Scores with bounds need no maximum. Nothing in the loop then looks at the sum
// of products, so that nothing but a wait of its own keeps weights out of
// registers that a product still reads; with three stages there is none other.
// RUN: fa3-run --cpu --check-each-pass='rescale=never block-m=128 block-n=64' %s --function=causal --dims b=1,h=2,hk=1,sq=200,sk=300 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='rescale=never block-m=128 block-n=64 stages=3' %s --function=causal --dims b=1,h=2,hk=1,sq=200,sk=300 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='rescale=never block-m=192 block-n=32 stages=3 mode=dynamic' %s --function=causal --dims b=1,h=2,hk=1,sq=200,sk=330 --sms 1 --completion random --schedule-seed 3 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='rescale=never block-m=128 block-n=64 stages=1 mode=static' %s --function=causal --dims b=1,h=2,hk=1,sq=130,sk=64 --sms 1 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='rescale=never block-m=128 block-n=64' %s --function=causal --dims b=1,h=1,hk=1,sq=130,sk=0 | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// The definition, also where nearly all scores are at a bound: with a cap of 50
// their weights are up to 2^144 apart.
// RUN: fa3-opt --attention-expand-mods --attention-to-reference %s > %t.ref.mlir
// RUN: fa3-opt %s -fa3-tile='rescale=never block-m=128 block-n=64' > %t.tile.mlir
// RUN: FileCheck %s --check-prefix=NONE --implicit-check-not='reduce max' < %t.tile.mlir
// NONE: math.tanh
// RUN: fa3-run --cpu %t.tile.mlir --against %t.ref.mlir --function=causal --dims b=1,h=2,hk=1,sq=200,sk=300 --atol 2e-2
// RUN: fa3-run --cpu %t.tile.mlir --against %t.ref.mlir --function=saturated --dims b=1,h=2,hk=1,sq=200,sk=300 --atol 2e-2

!t = tensor<?x?x?x64xbf16>
!l = tensor<?x?x?xf32>

func.func @causal(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"}) -> (!t {tile.name = "o"}, !l {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.softcap<30.0>, #attention.causal] : (!t, !t, !t) -> (!t, !l)
  return %o, %lse : !t, !l
}

func.func @saturated(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"}) -> (!t {tile.name = "o"}, !l {tile.name = "lse"}) {
  %scale = arith.constant 40.0 : f32
  %o, %lse = attention.forward %q, %k, %v scale %scale mods [#attention.softcap<50.0>, #attention.causal] : (!t, !t, !t) -> (!t, !l)
  return %o, %lse : !t, !l
}
