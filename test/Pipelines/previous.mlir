// Attention that takes in o and lse of other keys: the same after every pass, and
// right by definition.
// DEFINE: %{check} = fa3-run --cpu %s --check-each-pass
// DEFINE: %{tiles} = fa3-run --cpu %s
// RUN: %python %S/../Inputs/table.py %t.lse.npy '<f4' 1,4,90 'float("-inf") if k %% 5 == 0 else 6.5 - k %% 7'
// RUN: %python %S/../Inputs/table.py %t.o.npy '<f4' 1,4,90,64 'float("nan") if k %% 5 == 0 else math.sin(k + l) + j'
// RUN: %{check} --function=causal --dims b=1,sq=90,sk=130 --input previous_o=%t.o.npy --input previous_lse=%t.lse.npy | FileCheck %s
// RUN: %{tiles} --function=causal --dims b=1,sq=90,sk=130 --input previous_o=%t.o.npy --input previous_lse=%t.lse.npy | FileCheck %s --check-prefix=RIGHT
// RUN: %{tiles} --function=causal --dims b=1,sq=65,sk=0 | FileCheck %s --check-prefix=RIGHT
// Rows in front of the first key see none of these keys.
// RUN: %{tiles} --function=causal --dims b=1,sq=100,sk=30 | FileCheck %s --check-prefix=RIGHT
// A step of a ring: o of f32 for the next one.
// RUN: %{check}='rescale=eager mode=static' --function=step --dims b=1,sq=70,sk=130 --fill previous_lse=5 --sms 2 | FileCheck %s
// Another order of dimensions, o of 16 bits, a sink beside it, heads of a group as
// rows of a tile; scores of any size.
// RUN: %{check}='pack-gqa=true' --function=sinks --dims b=1,sq=5,sk=130 --fill previous_lse=4 --fill sinks=3 | FileCheck %s
// RUN: %{tiles} --function=large --dims b=1,sq=70,sk=200 --distribution=outlier --fill previous_lse=9 | FileCheck %s --check-prefix=RIGHT
// Keys in parts, which a kernel of its own merges with each other first; of a fixed
// number of keys, and one of them: as if it were merged.
// DEFINE: %{split} = --function=split --dims b=3,sq=3,sk=200 --lengths=used_k=200,0,65 --fill previous_lse=4
// RUN: %{check}='block-n=32' %{split} --scalar splits=3 --schedule-seed 3 --guards random | FileCheck %s
// RUN: %{tiles} %{split} --scalar splits=33 | FileCheck %s --check-prefix=RIGHT
// RUN: %{check}='block-n=32 part-keys=96' %{split} --scalar splits=0 | FileCheck %s
// RUN: %{check}='block-n=32 part-keys=96' --function=causal --dims b=1,sq=70,sk=64 --fill previous_lse=4 | FileCheck %s
// Sequences one behind the other, with rows that are nobody's.
// RUN: %{check} --function=packed --dims tq=90,tk=130,b1=5 --lengths=cu_q=1,0,70,3 --lengths=cu_k=65,3,60,0 --fill previous_lse=4 | FileCheck %s
// Three groups of rows have no registers for both outputs of such heads: a kernel of its
// own adds the previous one.
// RUN: %{tiles} --function=uneven --dims b=1,sq=70,sk=130 --fill previous_lse=4 | FileCheck %s --check-prefix=RIGHT
// 8-bit numbers, whose weights have a factor; code on the output, which gets the
// results of all keys.
// RUN: %{tiles} --function=float8 --dims b=1,sq=70,sk=300 --fill previous_lse=5 | FileCheck %s --check-prefix=RIGHT
// RUN: %{tiles} --function=gate --dims b=1,sq=70,sk=100 --fill previous_lse=4 | FileCheck %s --check-prefix=RIGHT
// Heads too wide for two tiles of the output.
// RUN: %{check} --function=wide --dims b=1,sq=70,sk=70 --fill previous_lse=4 | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// The whole pipeline, by the instructions of the kernels.
// RUN: fa3-run --cpu --require-fences --pass-pipeline='builtin.module(fa3-tile,fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' %s --function=step --dims b=1,sq=200,sk=300 --fill previous_lse=5 | FileCheck %s --check-prefix=RIGHT
// RIGHT: o: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// RIGHT: lse: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}

!t = tensor<?x4x?x64xbf16>
!kv = tensor<?x2x?x64xbf16>
!f = tensor<?x4x?x64xf32>
!l = tensor<?x4x?xf32>
func.func @causal(%q: !t {tile.name = "q"}, %k: !kv {tile.name = "k"}, %v: !kv {tile.name = "v"}, %po: !f {tile.name = "previous_o"}, %pl: !l {tile.name = "previous_lse"})
    -> (!t {tile.name = "o"}, !l {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v previous(%po, %pl : !f, !l) mods [#attention.causal] : (!t, !kv, !kv) -> (!t, !l)
  return %o, %lse : !t, !l
}

!c = tensor<?x2x?x128xf16>
!cf = tensor<?x2x?x128xf32>
!m = tensor<?x2x?xf32>
func.func @step(%q: !c {tile.name = "q"}, %k: !c {tile.name = "k"}, %v: !c {tile.name = "v"}, %po: !cf {tile.name = "previous_o"}, %pl: !m {tile.name = "previous_lse"})
    -> (!cf {tile.name = "o"}, !m {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v previous(%po, %pl : !cf, !m) : (!c, !c, !c) -> (!cf, !m)
  return %o, %lse : !cf, !m
}

!s4 = tensor<?x?x4x64xbf16>
!s2 = tensor<?x?x2x64xbf16>
func.func @sinks(%q: !s4 {tile.name = "q"}, %k: !s2 {tile.name = "k"}, %v: !s2 {tile.name = "v"}, %sinks: tensor<4xf32> {tile.name = "sinks"}, %po: !s4 {tile.name = "previous_o"}, %pl: tensor<?x4x?xf32> {tile.name = "previous_lse"})
    -> (!s4 {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v sinks(%sinks : tensor<4xf32>) previous(%po, %pl : !s4, tensor<?x4x?xf32>) layout bshd mods [#attention.causal]
    : (!s4, !s2, !s2) -> !s4
  return %o : !s4
}

func.func @large(%q: !c {tile.name = "q"}, %k: !c {tile.name = "k"}, %v: !c {tile.name = "v"}, %po: !cf {tile.name = "previous_o"}, %pl: !m {tile.name = "previous_lse"})
    -> (!c {tile.name = "o"}, !m {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v previous(%po, %pl : !cf, !m) : (!c, !c, !c) -> (!c, !m)
    score_mod (%s, %b, %h, %i, %j) {
      %square = arith.mulf %s, %s : f32
      attention.yield %square : f32
    }
  return %o, %lse : !c, !m
}

!x = tensor<?x4x?x64xbf16>
!y = tensor<?x2x?x64xbf16>
!xf = tensor<?x4x?x64xf32>
func.func @split(%q: !x {tile.name = "q"}, %k: !y {tile.name = "k"}, %v: !y {tile.name = "v"}, %used: tensor<?xi32> {tile.name = "used_k"}, %splits: i32 {tile.name = "splits"},
                 %po: !xf {tile.name = "previous_o"}, %pl: tensor<?x4x?xf32> {tile.name = "previous_lse"})
    -> (!x {tile.name = "o"}, tensor<?x4x?xf32> {tile.name = "lse"}) {
  %n = arith.index_cast %splits : i32 to index
  %o, %lse = attention.forward %q, %k, %v aux(%used : tensor<?xi32>) splits %n previous(%po, %pl : !xf, tensor<?x4x?xf32>) mods [#attention.used<k = 0>, #attention.causal]
    : (!x, !y, !y) -> (!x, tensor<?x4x?xf32>)
  return %o, %lse : !x, tensor<?x4x?xf32>
}

!p = tensor<?x2x64xbf16>
!pf = tensor<?x2x64xf32>
func.func @packed(%q: !p {tile.name = "q"}, %k: !p {tile.name = "k"}, %v: !p {tile.name = "v"}, %cuq: tensor<?xi32> {tile.name = "cu_q"}, %cuk: tensor<?xi32> {tile.name = "cu_k"},
                  %po: !pf {tile.name = "previous_o"}, %pl: tensor<2x?xf32> {tile.name = "previous_lse"})
    -> (!p {tile.name = "o"}, tensor<2x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%cuq, %cuk : tensor<?xi32>, tensor<?xi32>) previous(%po, %pl : !pf, tensor<2x?xf32>) layout bshd mods [#attention.packed<q = 0, k = 1>, #attention.causal]
    : (!p, !p, !p) -> (!p, tensor<2x?xf32>)
  return %o, %lse : !p, tensor<2x?xf32>
}

!q8 = tensor<?x2x?x128xf8E4M3FN>
!o8 = tensor<?x2x?x128xbf16>
!one = tensor<1x1x1xf32>
func.func @float8(%q: !q8 {tile.name = "q"}, %k: !q8 {tile.name = "k"}, %v: !q8 {tile.name = "v"}, %qs: !one {tile.name = "q_scale"}, %ks: !one {tile.name = "k_scale"}, %vs: !one {tile.name = "v_scale"},
                  %po: !o8 {tile.name = "previous_o"}, %pl: !m {tile.name = "previous_lse"})
    -> (!o8 {tile.name = "o"}, !m {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !one, !one, !one) previous(%po, %pl : !o8, !m) : (!q8, !q8, !q8) -> (!o8, !m)
  return %o, %lse : !o8, !m
}

func.func @gate(%q: !y {tile.name = "q"}, %k: !y {tile.name = "k"}, %v: !y {tile.name = "v"}, %po: tensor<?x2x?x64xf32> {tile.name = "previous_o"}, %pl: !m {tile.name = "previous_lse"}, %gate: !y {tile.name = "gate"})
    -> (!y {tile.name = "o"}, !m {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%gate : !y) previous(%po, %pl : tensor<?x2x?x64xf32>, !m) mods [#attention.causal] : (!y, !y, !y) -> (!y, !m)
    epilogue (%x, %b, %h, %i, %c) {
      %g = tensor.extract %gate[%b, %h, %i, %c] : !y
      %w = arith.extf %g : bf16 to f32
      %r = arith.mulf %x, %w : f32
      attention.yield %r : f32
    }
  return %o, %lse : !y, !m
}

!w = tensor<?x1x?x256xbf16>
!wf = tensor<?x1x?x256xf32>
func.func @wide(%q: !w {tile.name = "q"}, %k: !w {tile.name = "k"}, %v: !w {tile.name = "v"}, %po: !wf {tile.name = "previous_o"}, %pl: tensor<?x1x?xf32> {tile.name = "previous_lse"})
    -> (!w {tile.name = "o"}, tensor<?x1x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v previous(%po, %pl : !wf, tensor<?x1x?xf32>) mods [#attention.causal] : (!w, !w, !w) -> (!w, tensor<?x1x?xf32>)
  return %o, %lse : !w, tensor<?x1x?xf32>
}

!u = tensor<?x1x?x152xbf16>
!uf = tensor<?x1x?x152xf32>
func.func @uneven(%q: !u {tile.name = "q"}, %k: !u {tile.name = "k"}, %v: !u {tile.name = "v"}, %po: !uf {tile.name = "previous_o"}, %pl: tensor<?x1x?xf32> {tile.name = "previous_lse"})
    -> (!u {tile.name = "o"}, tensor<?x1x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v previous(%po, %pl : !uf, tensor<?x1x?xf32>) : (!u, !u, !u) -> (!u, tensor<?x1x?xf32>)
  return %o, %lse : !u, tensor<?x1x?xf32>
}
