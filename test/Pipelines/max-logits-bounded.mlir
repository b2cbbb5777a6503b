// The largest scores where weights refer to none: the only maxima there are.
// RUN: fa3-opt %s -attention-expand-mods -attention-to-tile='rescale=never block-m=128 block-n=64' | FileCheck %s --check-prefix=TILE
// RUN: fa3-run --cpu %s --check-each-pass='rescale=never block-m=128 block-n=64' --dims b=1,sq=200,sk=300 | FileCheck %s
// RUN: fa3-run --cpu %s --check-each-pass='rescale=never block-m=128 block-n=64 stages=3' --dims b=1,sq=130,sk=90 | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// TILE: scf.for
// TILE: tile.reduce max %{{.*}} dim 1 modulo 8
// TILE-NOT: tile.reduce max
// TILE: scf.yield
// TILE: tile.reduce max %{{.*}} dim 1 :

!t = tensor<?x2x?x64xbf16>
!m = tensor<?x2x?xf32>
func.func @softcap(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"}) -> (!t {tile.name = "o"}, !m {tile.name = "max_logits"}) {
  %o, %max = attention.forward %q, %k, %v max_logits mods [#attention.softcap<30.0>, #attention.causal] : (!t, !t, !t) -> (!t, !m)
  return %o, %max : !t, !m
}
