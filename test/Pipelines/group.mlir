// Heads whose number only the launch knows, in groups that the compiler knows: the
// heads of a group are rows of one tile as if it knew all, right after every pass.
// DEFINE: %{lengths} = --lengths=cu_q=0,1,63,64,65,127,128,129 --lengths=cu_k=64,129,1,0,128,65,127,63
// DEFINE: %{packed} = fa3-run --cpu %s --function=packed %{lengths} --scalar max_q=129
// RUN: %{packed} --dims tq=590,tk=580,b1=9,h=4,hk=2 --check-each-pass='block-m=128 block-n=64' | FileCheck %s
// RUN: %{packed} --dims tq=590,tk=580,b1=9,h=2,hk=1 --check-each-pass='block-m=64 block-n=80 mode=static' --sms 2 --completion random | FileCheck %s
// RUN: %{packed} --dims tq=590,tk=580,b1=9,h=6,hk=3 --check-each-pass='order=list block-m=128 block-n=64' --sms 2 | FileCheck %s
// RUN: %{packed} --dims tq=590,tk=580,b1=9,h=4,hk=2 --check-each-pass='pack-gqa=false' | FileCheck %s
// RUN: not %{packed} --dims tq=590,tk=580,b1=9,h=6,hk=2 --check-each-pass 2>&1 | FileCheck %s --check-prefix=CONTRACT
// CONTRACT: q does not have 2 heads for each of those of k

// Groups that are no power of two, sinks, and keys in parts.
// DEFINE: %{parts} = fa3-run --cpu %s --function=parts --lengths=used_k=200,0,65
// RUN: %{parts} --dims b=3,sq=3,sk=200,h=6,hk=2 --scalar splits=3 --check-each-pass='block-n=48' | FileCheck %s
// RUN: %{parts} --dims b=3,sq=30,sk=200,h=3,hk=1 --scalar splits=0 --check-each-pass='block-n=64 mode=static' --sms 7 | FileCheck %s
// RUN: %{parts} --dims b=3,sq=3,sk=200,h=6,hk=2 --scalar splits=2 --check-each-pass='block-n=48 pack-gqa=false' | FileCheck %s
// Gradients of such heads, with the same check of the launch.
// DEFINE: %{gradients} = fa3-run --cpu %s --function=gradients
// RUN: %{gradients} --dims b=1,sq=70,sk=130,h=4,hk=2 --check-each-pass | FileCheck %s
// RUN: %{gradients} --dims b=2,sq=70,sk=40,h=2,hk=1 --check-each-pass='backward-form=split' | FileCheck %s
// RUN: not %{gradients} --dims b=1,sq=70,sk=130,h=6,hk=2 --check-each-pass 2>&1 | FileCheck %s --check-prefix=CONTRACT
// CHECK: same answer after {{[0-9]+}} passes

// RUN: fa3-opt %s -attention-expand-mods -attention-to-tile -canonicalize -cse | FileCheck %s --check-prefix=TILE
// TILE-LABEL: func.func @packed
// TILE: %[[GROUPS:.*]] = arith.divui %{{.*}}, %c2
// TILE: memref.expand_shape %{{.*}} {{\[}}[0, 1], [2], [3]] output_shape [%[[GROUPS]], 2, %{{.*}}, 64]
// The key head is the head of the grid.
// TILE: tile.grid (%{{.*}}, %[[HEAD:.*]]) in
// TILE: tile.load %{{.*}}[%[[HEAD]], %{{.*}}, %c0, %c0] fold 2
// TILE: tile.load %{{.*}}[%[[HEAD]], %{{.*}}, %c0] : memref<?x?x64xbf16

!t = tensor<?x?x64xbf16>
func.func @packed(%q: !t {tile.name = "q", tile.dims = ["tq", "h", "d"]}, %k: !t {tile.name = "k", tile.dims = ["tk", "hk", "d"]}, %v: !t {tile.name = "v", tile.dims = ["tk", "hk", "d"]},
                  %cuq: tensor<?xi32> {tile.name = "cu_q"}, %cuk: tensor<?xi32> {tile.name = "cu_k"}, %max: i32 {tile.name = "max_q"})
    -> (!t {tile.name = "o"}, tensor<?x?xf32> {tile.name = "lse"}) {
  %most = arith.index_cast %max : i32 to index
  %sequences = attention.sequences max_q %most
  %o, %lse = attention.forward %q, %k, %v aux(%cuq, %cuk : tensor<?xi32>, tensor<?xi32>) sequences %sequences group 2 layout bshd
      mods [#attention.packed<q = 0, k = 1>, #attention.causal]
    : (!t, !t, !t) -> (!t, tensor<?x?xf32>)
  return %o, %lse : !t, tensor<?x?xf32>
}

!u = tensor<?x?x?x64xf16>
func.func @parts(%q: !u {tile.name = "q", tile.dims = ["b", "h", "sq", "d"]}, %k: !u {tile.name = "k", tile.dims = ["b", "hk", "sk", "d"]}, %v: !u {tile.name = "v", tile.dims = ["b", "hk", "sk", "d"]},
                 %used: tensor<?xi32> {tile.name = "used_k"}, %splits: i32 {tile.name = "splits"}, %sinks: tensor<?xf32> {tile.name = "sinks"})
    -> (!u {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}) {
  %n = arith.index_cast %splits : i32 to index
  %o, %lse = attention.forward %q, %k, %v aux(%used : tensor<?xi32>) splits %n sinks(%sinks : tensor<?xf32>) group 3
      mods [#attention.used<k = 0>, #attention.causal]
    : (!u, !u, !u) -> (!u, tensor<?x?x?xf32>)
  return %o, %lse : !u, tensor<?x?x?xf32>
}

!v = tensor<?x?x?xf32>
func.func @gradients(%q: !u {tile.name = "q"}, %k: !u {tile.name = "k", tile.dims = ["b", "hk", "sk", "d"]}, %v: !u {tile.name = "v", tile.dims = ["b", "hk", "sk", "d"]},
                     %o: !u {tile.name = "o"}, %lse: !v {tile.name = "lse"}, %do: !u {tile.name = "do"}) -> (!u {tile.name = "dq"}, !u {tile.name = "dk"}, !u {tile.name = "dv"}) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do group 2 mods [#attention.causal] : (!u, !u, !u, !u, !v, !u) -> (!u, !u, !u)
  return %dq, %dk, %dv : !u, !u, !u
}
