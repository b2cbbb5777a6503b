// The largest score of every query where heads of a group are rows of a tile,
// and where keys are summed up in parts: sinks have no part in it.
// RUN: fa3-run --cpu %s --check-each-pass='pack-gqa=true' --function=sinks --dims b=2,sq=5,sk=150 --fill sinks=90 | FileCheck %s
// DEFINE: %{split} = fa3-run --cpu %s --function=split --dims b=3,sq=3,sk=200 --lengths=used_k=200,0,65
// RUN: %{split} --check-each-pass='block-n=48' --scalar splits=1 | FileCheck %s
// RUN: %{split} --check-each-pass='block-n=48' --scalar splits=3 --schedule-seed 3 --guards random | FileCheck %s
// RUN: %{split} --check-each-pass='block-n=48' --scalar splits=33 | FileCheck %s
// RUN: %{split} --check-each-pass='block-n=48 part-keys=96' --scalar splits=0 | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

!c = tensor<?x2x?x64xbf16>
func.func @sinks(%q: tensor<?x6x?x64xbf16> {tile.name = "q"}, %k: tensor<?x2x?x64xbf16> {tile.name = "k"}, %v: tensor<?x2x?x64xbf16> {tile.name = "v"}, %sinks: tensor<6xf32> {tile.name = "sinks"})
    -> (tensor<?x6x?x64xbf16> {tile.name = "o"}, tensor<?x6x?xf32> {tile.name = "max_logits"}) {
  %o, %max = attention.forward %q, %k, %v sinks(%sinks : tensor<6xf32>) max_logits mods [#attention.window<left = 100, right = 0>]
    : (tensor<?x6x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> (tensor<?x6x?x64xbf16>, tensor<?x6x?xf32>)
  return %o, %max : tensor<?x6x?x64xbf16>, tensor<?x6x?xf32>
}

func.func @split(%q: tensor<?x4x?x64xbf16> {tile.name = "q"}, %k: !c {tile.name = "k"}, %v: !c {tile.name = "v"}, %used: tensor<?xi32> {tile.name = "used_k"}, %splits: i32 {tile.name = "splits"})
    -> (tensor<?x4x?x64xbf16> {tile.name = "o"}, tensor<?x4x?xf32> {tile.name = "max_logits"}) {
  %n = arith.index_cast %splits : i32 to index
  %o, %max = attention.forward %q, %k, %v aux(%used : tensor<?xi32>) splits %n max_logits mods [#attention.used<k = 0>, #attention.causal]
    : (tensor<?x4x?x64xbf16>, !c, !c) -> (tensor<?x4x?x64xbf16>, tensor<?x4x?xf32>)
  return %o, %max : tensor<?x4x?x64xbf16>, tensor<?x4x?xf32>
}
