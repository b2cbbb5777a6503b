// Parts of a number of keys: the same answer after every pass, and right by
// definition, with as many parts as there are keys for, with more, and with
// fewer, of which the last one has the rest. Sinks count once.
// DEFINE: %{few} = fa3-run --cpu %s --function=few --dims b=3,sq=3,sk=200,h=4 --lengths=used_k=200,0,65
// RUN: %{few} --scalar splits=0 --check-each-pass='block-n=48 part-keys=48' | FileCheck %s
// RUN: %{few} --scalar splits=3 --check-each-pass='block-n=32 part-keys=64' | FileCheck %s
// RUN: %{few} --scalar splits=17 --check-each-pass='block-n=32 part-keys=32 mode=static' --sms 2 --completion random | FileCheck %s
// RUN: %{few} --scalar splits=1 --check-each-pass='block-n=64 part-keys=64' | FileCheck %s
// RUN: %{few} --scalar splits=2 --check-each-pass='block-n=32 part-keys=32 pack-gqa=false mode=dynamic' --schedule-seed 3 --guards random | FileCheck %s
// DEFINE: %{packed} = fa3-run --cpu %s --function=packed --dims tq=20,tk=300,b1=5 --lengths=cu_q=1,4,0,7 --lengths=cu_k=150,3,50,64 --scalar max_q=7
// RUN: %{packed} --scalar splits=3 --check-each-pass='block-n=64 part-keys=64' | FileCheck %s
// RUN: %{packed} --scalar splits=0 --check-each-pass='block-n=32 part-keys=96 pack-gqa=false' | FileCheck %s
// Sinks of a kernel without parts, added as a merge adds them.
// RUN: fa3-run --cpu %s --function=sinks --dims b=1,sq=130,sk=70 --check-each-pass='block-m=128 block-n=64 part-keys=64' | FileCheck %s
// RUN: fa3-run --cpu %s --function=sinks --dims b=2,sq=5,sk=0 --check-each-pass='pack-gqa=false block-n=64 part-keys=64' | FileCheck %s
// RUN: fa3-run --cpu %s --function=sinks --dims b=1,sq=40,sk=70 --fill sinks=-inf --check-each-pass='block-n=64 part-keys=64' | FileCheck %s
// RUN: fa3-run --cpu %s --function=sinks --dims b=1,sq=40,sk=70 --fill sinks=90 --check-each-pass='block-n=64 part-keys=64' | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

func.func @few(%q: tensor<?x4x?x64xbf16> {tile.name = "q"}, %k: tensor<?x2x?x64xbf16> {tile.name = "k"}, %v: tensor<?x2x?x64xbf16> {tile.name = "v"},
               %used: tensor<?xi32> {tile.name = "used_k"}, %splits: i32 {tile.name = "splits"}, %sinks: tensor<?xf32> {tile.name = "sinks"})
    -> (tensor<?x4x?x64xbf16> {tile.name = "o"}, tensor<?x4x?xf32> {tile.name = "lse"}) {
  %n = arith.index_cast %splits : i32 to index
  %o, %lse = attention.forward %q, %k, %v aux(%used : tensor<?xi32>) splits %n sinks(%sinks : tensor<?xf32>) mods [#attention.used<k = 0>, #attention.causal]
    : (tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> (tensor<?x4x?x64xbf16>, tensor<?x4x?xf32>)
  return %o, %lse : tensor<?x4x?x64xbf16>, tensor<?x4x?xf32>
}

func.func @packed(%q: tensor<?x2x72xf16> {tile.name = "q"}, %k: tensor<?x1x72xf16> {tile.name = "k"}, %v: tensor<?x1x72xf16> {tile.name = "v"},
                  %cuq: tensor<?xi32> {tile.name = "cu_q"}, %cuk: tensor<?xi32> {tile.name = "cu_k"}, %max: i32 {tile.name = "max_q"}, %splits: i32 {tile.name = "splits"})
    -> (tensor<?x2x72xf16> {tile.name = "o"}) {
  %most = arith.index_cast %max : i32 to index
  %n = arith.index_cast %splits : i32 to index
  %sequences = attention.sequences max_q %most
  %o = attention.forward %q, %k, %v aux(%cuq, %cuk : tensor<?xi32>, tensor<?xi32>) sequences %sequences splits %n layout bshd
      mods [#attention.packed<q = 0, k = 1>, #attention.causal]
    : (tensor<?x2x72xf16>, tensor<?x1x72xf16>, tensor<?x1x72xf16>) -> tensor<?x2x72xf16>
  return %o : tensor<?x2x72xf16>
}

func.func @sinks(%q: tensor<?x6x?x64xbf16> {tile.name = "q"}, %k: tensor<?x2x?x64xbf16> {tile.name = "k"}, %v: tensor<?x2x?x64xbf16> {tile.name = "v"}, %sinks: tensor<6xf32> {tile.name = "sinks"})
    -> (tensor<?x6x?x64xbf16> {tile.name = "o"}, tensor<?x6x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v sinks(%sinks : tensor<6xf32>) mods [#attention.window<left = 100, right = 0>]
    : (tensor<?x6x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> (tensor<?x6x?x64xbf16>, tensor<?x6x?xf32>)
  return %o, %lse : tensor<?x6x?x64xbf16>, tensor<?x6x?xf32>
}
