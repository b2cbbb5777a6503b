// The largest score of every query, beside the output: the same after every
// pass, and right by definition, whatever the maximum is that weights refer to.
// DEFINE: %{check} = fa3-run --cpu %s --check-each-pass
// RUN: %{check} --function=causal --dims b=1,h=4,hk=2,sq=200,sk=300 | FileCheck %s
// RUN: %{check}='rescale=eager mode=static' --function=causal --dims b=2,h=2,hk=1,sq=130,sk=64 --sms 2 | FileCheck %s
// RUN: %{check}='mode=dynamic stages=1' --function=causal --dims b=1,h=2,hk=2,sq=65,sk=0 | FileCheck %s
// Rows in front of the first key see none: -inf.
// RUN: %{check} --function=causal --dims b=1,h=1,hk=1,sq=100,sk=30 | FileCheck %s
// A maximum in units of scores, and one with a factor left out.
// RUN: %{check} --function=softcap --dims b=1,sq=200,sk=300 | FileCheck %s
// RUN: %{check} --function=large --dims b=1,sq=70,sk=200 --distribution=outlier | FileCheck %s
// Dropout has no part in it.
// RUN: %{check} --function=dropout --dims b=1,sq=70,sk=130 --fill rng_state=7 | FileCheck %s
// Sequences one behind the other, with rows that are nobody's.
// RUN: %{check} --function=packed --dims tq=90,tk=130,b1=5 --lengths=cu_q=1,0,70,3 --lengths=cu_k=65,3,60,0 | FileCheck %s
// 8-bit numbers: scales of blocks of values are in what weights refer to.
// RUN: %{check} --function=blocks --dims b=1,sq=256,sk=300,q_scale.2=2,k_scale.2=3,v_scale.2=3 | FileCheck %s
// RUN: %{check} --function=float8 --dims b=2,sq=70,sk=531 | FileCheck %s
// RUN: %{check} --function=integers --dims b=1,sq=70,sk=131 | FileCheck %s
// Heads too wide for one group's registers.
// RUN: %{check} --function=wide --dims b=1,sq=70,sk=70 | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// The largest scores are maxima of their own, which start from -inf: parts of
// them as of the sums, so that lanes exchange nothing before the end.
// RUN: fa3-opt %s -attention-expand-mods -attention-to-tile='rescale=lazy' | FileCheck %s --check-prefix=TILE
// TILE-LABEL: gpu.func @causal(
// TILE: %[[NONE:.*]] = arith.constant dense<0xFF800000> : tensor<{{[0-9]+}}x8xf32>
// TILE: %[[LOOP:.*]]:4 = scf.for {{.*}} iter_args({{.*}}, %[[SO_FAR:[a-z0-9_]+]] = %[[NONE]])
// TILE: %[[PARTS:.*]] = tile.reduce max %{{.*}} dim 1 modulo 8
// TILE: tile.reduce max %[[PARTS]] dim 1 :
// TILE: arith.maxnumf %[[PARTS]], %[[SO_FAR]]
// TILE: %[[MAX:.*]] = tile.reduce max %[[LOOP]]#3 dim 1 :
// TILE: %[[SCALED:.*]] = arith.mulf %[[MAX]], %{{.*}}
// TILE: %[[NATURAL:.*]] = arith.mulf %[[SCALED]], %{{.*}}
// TILE: tile.store %[[NATURAL]], %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}]

// Nothing of it without the word.
// TILE-LABEL: gpu.func @without(
// TILE: scf.for
// TILE-SAME: -> (tensor<{{[0-9]+x[0-9]+}}xf32>, tensor<{{[0-9]+}}xf32>, tensor<{{[0-9x]+}}xf32>)

!t = tensor<?x?x?x64xbf16>
!l = tensor<?x?x?xf32>
func.func @causal(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"})
    -> (!t {tile.name = "o"}, !l {tile.name = "lse"}, !l {tile.name = "max_logits"}) {
  %o, %lse, %max = attention.forward %q, %k, %v max_logits mods [#attention.causal] : (!t, !t, !t) -> (!t, !l, !l)
  return %o, %lse, %max : !t, !l, !l
}

func.func @without(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"}) -> (!t {tile.name = "o"}, !l {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal] : (!t, !t, !t) -> (!t, !l)
  return %o, %lse : !t, !l
}

!c = tensor<?x2x?x64xbf16>
!m = tensor<?x2x?xf32>
func.func @softcap(%q: !c {tile.name = "q"}, %k: !c {tile.name = "k"}, %v: !c {tile.name = "v"}) -> (!c {tile.name = "o"}, !m {tile.name = "max_logits"}) {
  %o, %max = attention.forward %q, %k, %v max_logits mods [#attention.softcap<30.0>, #attention.causal] : (!c, !c, !c) -> (!c, !m)
  return %o, %max : !c, !m
}

func.func @large(%q: !c {tile.name = "q"}, %k: !c {tile.name = "k"}, %v: !c {tile.name = "v"}) -> (!c {tile.name = "o"}, !m {tile.name = "max_logits"}) {
  %o, %max = attention.forward %q, %k, %v max_logits : (!c, !c, !c) -> (!c, !m)
    score_mod (%s, %b, %h, %i, %j) {
      %square = arith.mulf %s, %s : f32
      attention.yield %square : f32
    }
  return %o, %max : !c, !m
}

func.func @dropout(%q: !c {tile.name = "q"}, %k: !c {tile.name = "k"}, %v: !c {tile.name = "v"}, %state: tensor<2xi64> {tile.name = "rng_state"})
    -> (!c {tile.name = "o"}, !m {tile.name = "max_logits"}) {
  %o, %max = attention.forward %q, %k, %v aux(%state : tensor<2xi64>) max_logits mods [#attention.dropout<p = 0.5, aux = 0>] : (!c, !c, !c) -> (!c, !m)
  return %o, %max : !c, !m
}

!p = tensor<?x2x64xbf16>
func.func @packed(%q: !p {tile.name = "q"}, %k: !p {tile.name = "k"}, %v: !p {tile.name = "v"}, %cuq: tensor<?xi32> {tile.name = "cu_q"}, %cuk: tensor<?xi32> {tile.name = "cu_k"})
    -> (!p {tile.name = "o"}, tensor<2x?xf32> {tile.name = "lse"}, tensor<2x?xf32> {tile.name = "max_logits"}) {
  %o, %lse, %max = attention.forward %q, %k, %v aux(%cuq, %cuk : tensor<?xi32>, tensor<?xi32>) layout bshd max_logits mods [#attention.packed<q = 0, k = 1>, #attention.causal]
    : (!p, !p, !p) -> (!p, tensor<2x?xf32>, tensor<2x?xf32>)
  return %o, %lse, %max : !p, tensor<2x?xf32>, tensor<2x?xf32>
}

!q8 = tensor<?x2x?x128xf8E4M3FN>
!o8 = tensor<?x2x?x128xbf16>
!s = tensor<1x1x?xf32>
func.func @blocks(%q: !q8 {tile.name = "q"}, %k: !q8 {tile.name = "k"}, %v: !q8 {tile.name = "v"}, %qs: !s {tile.name = "q_scale"}, %ks: !s {tile.name = "k_scale"}, %vs: !s {tile.name = "v_scale"})
    -> (!o8 {tile.name = "o"}, !m {tile.name = "max_logits"}) {
  %o, %max = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !s, !s) rows [128, 128, 128] max_logits mods [#attention.causal] : (!q8, !q8, !q8) -> (!o8, !m)
  return %o, %max : !o8, !m
}

!one = tensor<1x1x1xf32>
func.func @float8(%q: !q8 {tile.name = "q"}, %k: !q8 {tile.name = "k"}, %v: !q8 {tile.name = "v"}, %qs: !one {tile.name = "q_scale"}, %ks: !one {tile.name = "k_scale"}, %vs: !one {tile.name = "v_scale"})
    -> (!o8 {tile.name = "o"}, !m {tile.name = "max_logits"}) {
  %o, %max = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !one, !one, !one) max_logits : (!q8, !q8, !q8) -> (!o8, !m)
  return %o, %max : !o8, !m
}

!i8 = tensor<?x2x?x128xi8>
func.func @integers(%q: !i8 {tile.name = "q"}, %k: !i8 {tile.name = "k"}, %v: !q8 {tile.name = "v"}, %qs: !one {tile.name = "q_scale"}, %ks: !one {tile.name = "k_scale"}, %vs: !one {tile.name = "v_scale"})
    -> (!o8 {tile.name = "o"}, !m {tile.name = "max_logits"}) {
  %o, %max = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !one, !one, !one) max_logits mods [#attention.causal] : (!i8, !i8, !q8) -> (!o8, !m)
  return %o, %max : !o8, !m
}

!w = tensor<?x1x?x512xbf16>
func.func @wide(%q: !w {tile.name = "q"}, %k: !w {tile.name = "k"}, %v: !w {tile.name = "v"}) -> (!w {tile.name = "o"}, tensor<?x1x?xf32> {tile.name = "max_logits"}) {
  %o, %max = attention.forward %q, %k, %v max_logits mods [#attention.causal] : (!w, !w, !w) -> (!w, tensor<?x1x?xf32>)
  return %o, %max : !w, tensor<?x1x?xf32>
}
