// A narrow block in front of an unknown number of keys, with 16 bits: heads of a
// group, a mask and score code, parts of the keys, of which one has that block.

// DEFINE: %{options} = block-n=96
// DEFINE: %{check} = fa3-run --cpu --check-each-pass="tuning-table=none last-block=narrow %{options}" %s --sms=2

// RUN: %{check} --function=groups --dims sq=70,sk=20 | FileCheck %s
// RUN: %{check} --function=groups --dims sq=70,sk=130 --completion random | FileCheck %s
// RUN: %{check} --function=groups --dims sq=70,sk=240 | FileCheck %s
// RUN: %{check} --function=causal --dims sq=70,sk=130 | FileCheck %s
// RUN: %{check} --function=causal --dims sq=150,sk=150 | FileCheck %s
// RUN: %{check} --function=parts --dims sq=3,sk=20 --scalar n=2 | FileCheck %s
// RUN: %{check} --function=parts --dims sq=3,sk=130 --scalar n=1 | FileCheck %s
// RUN: %{check} --function=parts --dims sq=3,sk=220 --scalar n=3 | FileCheck %s
// RUN: %{check} --function=parts --dims sq=3,sk=240 --scalar n=5 | FileCheck %s
// RUN: %{check} --function=known --scalar n=4 | FileCheck %s
// REDEFINE: %{options} = block-n=96 pack-gqa=true mode=static max-depth=1
// RUN: %{check} --function=groups --dims sq=3,sk=130 | FileCheck %s
// REDEFINE: %{options} = block-n=96 part-keys=96
// RUN: %{check} --function=parts --dims sq=3,sk=220 --scalar n=2 | FileCheck %s
// RUN: %{check} --function=parts --dims sq=3,sk=220 --scalar n=5 | FileCheck %s
// REDEFINE: %{options} = block-n=96 warp-specialize=false
// RUN: %{check} --function=groups --dims sq=70,sk=130 | FileCheck %s
// RUN: %{check} --function=groups --dims sq=70,sk=150 | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

!q = tensor<1x4x?x64xf16>
!kv = tensor<1x2x?x64xf16>
!l = tensor<1x4x?xf32>
func.func @groups(%q: !q {tile.name = "q", tile.dims = ["b", "h", "sq", "d"]},
                  %k: !kv {tile.name = "k", tile.dims = ["b", "hk", "sk", "d"]}, %v: !kv {tile.name = "v"})
    -> (!q, !l) {
  %o, %lse = attention.forward %q, %k, %v : (!q, !kv, !kv) -> (!q, !l)
  return %o, %lse : !q, !l
}
func.func @causal(%q: !q {tile.name = "q", tile.dims = ["b", "h", "sq", "d"]},
                  %k: !kv {tile.name = "k", tile.dims = ["b", "hk", "sk", "d"]}, %v: !kv {tile.name = "v"})
    -> (!q, !l) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal, #attention.softcap<5.0>] : (!q, !kv, !kv) -> (!q, !l)
  return %o, %lse : !q, !l
}
func.func @parts(%n: index {tile.name = "n"}, %q: !q {tile.name = "q", tile.dims = ["b", "h", "sq", "d"]},
                 %k: !kv {tile.name = "k", tile.dims = ["b", "hk", "sk", "d"]}, %v: !kv {tile.name = "v"})
    -> (!q, !l) {
  %o, %lse = attention.forward %q, %k, %v splits %n : (!q, !kv, !kv) -> (!q, !l)
  return %o, %lse : !q, !l
}

// Of a known number of keys, too, the narrow block is that of one part.
!q1 = tensor<1x4x3x64xf16>
!kv1 = tensor<1x2x208x64xf16>
func.func @known(%n: index {tile.name = "n"}, %q: !q1 {tile.name = "q", tile.dims = ["b", "h", "sq", "d"]},
                 %k: !kv1 {tile.name = "k", tile.dims = ["b", "hk", "sk", "d"]}, %v: !kv1 {tile.name = "v"})
    -> !q1 {
  %o = attention.forward %q, %k, %v splits %n : (!q1, !kv1, !kv1) -> !q1
  return %o : !q1
}
