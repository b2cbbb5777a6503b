// Sequences with lengths of their own: the same answer after every pass, right
// by definition, and nothing behind the end of a sequence is written.
// DEFINE: %{lengths} = --lengths=cu_q=0,1,63,64,65,127,128,129 --lengths=cu_k=64,129,1,0,128,65,127,63
// DEFINE: %{packed} = fa3-run --cpu %s --function=packed %{lengths} --dims tq=590,tk=580,b1=9
// RUN: %{packed} --scalar max_q=129 --check-each-pass='block-m=128 block-n=64' | FileCheck %s
// RUN: %{packed} --scalar max_q=200 --check-each-pass='block-m=64 block-n=80 pack-gqa=false mode=static' --sms 2 --completion random | FileCheck %s
// RUN: %{packed} --scalar max_q=65 --check-each-pass='block-m=192 block-n=48 mode=dynamic' --sms 2 --schedule-seed 3 --guards random | FileCheck %s
// RUN: %{packed} --scalar max_q=0 --check-each-pass | FileCheck %s
// RUN: %{packed} --scalar max_q=129 | FileCheck %s --check-prefix=RIGHT

// DEFINE: %{padded} = fa3-run --cpu %s --function=padded --dims b=8,sq=131,sk=150
// RUN: %{padded} --lengths=used_q=0,1,63,64,65,127,128,129 --lengths=used_k=64,129,1,0,128,65,127,63 --check-each-pass='block-m=128 block-n=64' | FileCheck %s
// RUN: %{padded} --lengths=used_q=0,1,63,64,65,127,128,129 --lengths=used_k=150,129,1,0,128,65,127,63 --check-each-pass='block-m=64 block-n=80 pack-gqa=false mode=static' --sms 2 --completion random | FileCheck %s
// In the order of a list, which has the sequences of packed rows, too; padded, one
// of batches and tiles.
// RUN: %{packed} --scalar max_q=129 --check-each-pass='order=list block-m=128 block-n=64' --sms 2 | FileCheck %s
// RUN: %{packed} --scalar max_q=200 --check-each-pass='order=list block-m=64 block-n=80 pack-gqa=false mode=static' --sms 2 --completion random | FileCheck %s
// RUN: %{padded} --lengths=used_q=0,1,63,64,65,127,128,129 --lengths=used_k=64,129,1,0,128,65,127,63 --check-each-pass='order=list block-m=128 block-n=64' --sms 2 --schedule-seed 7 | FileCheck %s
// RUN: fa3-opt %s -pass-pipeline='builtin.module(fa3-tile{order=list})' -o /dev/null 2>&1 | FileCheck %s --check-prefix=LISTS --allow-empty
// LISTS-NOT: remark
// All empty; lengths that are none.
// RUN: %{padded} --fill used_q=0 --fill used_k=0 --check-each-pass | FileCheck %s
// RUN: %{padded} --lengths=used_q=-1,500,2000000000,131,-2000000000,3,2,1 --lengths=used_k=500,-1,70,2000000000,5,-2000000000,2,1 --check-each-pass='block-m=128 block-n=64' | FileCheck %s
// RUN: fa3-run --cpu %s --function=packed --dims tq=590,tk=580,b1=4 --scalar max_q=600 --lengths=cu_q=-5,300,2000000000 --lengths=cu_k=100,-70,2000000000 --check-each-pass='block-m=128 block-n=64' | FileCheck %s
// RUN: fa3-run --cpu %s --function=packed --dims tq=590,tk=580,b1=4 --scalar max_q=600 --lengths=cu_q=-5,300,2000000000 --lengths=cu_k=100,-70,2000000000 --check-each-pass='order=list block-m=128 block-n=64' | FileCheck %s

// DEFINE: %{places} = fa3-run --cpu %s --function=places --dims b1=4,b=3,tq=200,p0=5,tk=150
// RUN: %{places} --lengths=cu_q=100,0,99 --lengths=used_k=130,150,9 --lengths=index=4,0,2 --lengths=pad=13,0,9 --check-each-pass='block-m=128 block-n=64' | FileCheck %s
// Numbers of batches that are none: keys of zeros.
// RUN: %{places} --lengths=cu_q=100,0,99 --lengths=used_k=130,150,9 --lengths=index=-4,5,20 --lengths=pad=13,0,9 --check-each-pass='block-m=128 block-n=64' | FileCheck %s

// Heads of a group that start at other rows: they are no rows of one tile.
// RUN: fa3-run --cpu %s --function=rows_by_head --dims b=2,n0=2,tq=40,sk=90 --lengths=used_q=19,7 --lengths=used_k=90,33 --check-each-pass | FileCheck %s

// CHECK: same answer after {{[0-9]+}} passes
// RIGHT: lse

func.func @packed(%q: tensor<?x2x64xbf16> {tile.name = "q"}, %k: tensor<?x1x64xbf16> {tile.name = "k"}, %v: tensor<?x1x64xbf16> {tile.name = "v"},
                  %cuq: tensor<?xi32> {tile.name = "cu_q"}, %cuk: tensor<?xi32> {tile.name = "cu_k"}, %max: i32 {tile.name = "max_q"})
    -> (tensor<?x2x64xbf16> {tile.name = "o"}, tensor<2x?xf32> {tile.name = "lse"}) {
  %most = arith.index_cast %max : i32 to index
  %sequences = attention.sequences max_q %most
  %o, %lse = attention.forward %q, %k, %v aux(%cuq, %cuk : tensor<?xi32>, tensor<?xi32>) sequences %sequences layout bshd
      mods [#attention.packed<q = 0, k = 1>, #attention.causal]
    : (tensor<?x2x64xbf16>, tensor<?x1x64xbf16>, tensor<?x1x64xbf16>) -> (tensor<?x2x64xbf16>, tensor<2x?xf32>)
  return %o, %lse : tensor<?x2x64xbf16>, tensor<2x?xf32>
}

func.func @padded(%q: tensor<?x2x?x64xf16> {tile.name = "q"}, %k: tensor<?x1x?x64xf16> {tile.name = "k"}, %v: tensor<?x1x?x64xf16> {tile.name = "v"},
                  %usedq: tensor<?xi32> {tile.name = "used_q"}, %usedk: tensor<?xi32> {tile.name = "used_k"})
    -> (tensor<?x2x?x64xf16> {tile.name = "o"}, tensor<?x2x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%usedq, %usedk : tensor<?xi32>, tensor<?xi32>)
      mods [#attention.used<q = 0, k = 1>, #attention.causal]
    : (tensor<?x2x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x1x?x64xf16>) -> (tensor<?x2x?x64xf16>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x2x?x64xf16>, tensor<?x2x?xf32>
}

// Packed queries, keys of some sequences of a padded cache, from some row on.
func.func @places(%q: tensor<2x?x64xbf16> {tile.name = "q"}, %k: tensor<?x1x?x64xbf16> {tile.name = "k"}, %v: tensor<?x1x?x64xbf16> {tile.name = "v"},
                  %cuq: tensor<?xi32> {tile.name = "cu_q"}, %usedk: tensor<?xi32> {tile.name = "used_k"},
                  %index: tensor<?xi32> {tile.name = "index"}, %pad: tensor<?xi32> {tile.name = "pad"})
    -> (tensor<2x?x64xbf16> {tile.name = "o"}, tensor<2x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%cuq, %usedk, %index, %pad : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>)
      mods [#attention.packed<q = 0>, #attention.used<k = 1>, #attention.batch_index<aux = 2>, #attention.leftpad<aux = 3>, #attention.window<left = 70>]
    : (tensor<2x?x64xbf16>, tensor<?x1x?x64xbf16>, tensor<?x1x?x64xbf16>) -> (tensor<2x?x64xbf16>, tensor<2x?xf32>)
  return %o, %lse : tensor<2x?x64xbf16>, tensor<2x?xf32>
}

func.func @rows_by_head(%q: tensor<?x4x?x64xf16> {tile.name = "q"}, %k: tensor<?x1x?x64xf16> {tile.name = "k"}, %v: tensor<?x1x?x64xf16> {tile.name = "v"},
                        %usedq: tensor<?xi32> {tile.name = "used_q"}, %usedk: tensor<?xi32> {tile.name = "used_k"})
    -> (tensor<?x4x?x64xf16> {tile.name = "o"}, tensor<?x4x?xf32> {tile.name = "lse"}) {
  %sequences = attention.sequences
    place_q (%b, %h, %i) {
      %c7 = arith.constant 7 : index
      %first = arith.muli %h, %c7 : index
      %row = arith.addi %first, %i : index
      attention.yield %b, %h, %row : index, index, index
    }
  %o, %lse = attention.forward %q, %k, %v aux(%usedq, %usedk : tensor<?xi32>, tensor<?xi32>) sequences %sequences
      mods [#attention.used<q = 0, k = 1>, #attention.causal]
    : (tensor<?x4x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x1x?x64xf16>) -> (tensor<?x4x?x64xf16>, tensor<?x4x?xf32>)
  return %o, %lse : tensor<?x4x?x64xf16>, tensor<?x4x?xf32>
}
