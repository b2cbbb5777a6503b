// A soft cap by a vote (hopper-shorten-functions), in kernels of the whole pipeline:
// arguments all of which are small, some that are not, and maxima that grow past
// the threshold late (outliers, small caps); with a mask, one stage, three,
// 8-bit operands whose scales the launch gives, groups of heads.
// DEFINE: %{check} = fa3-run --cpu %s --completion=random --schedule-seed=3
// RUN: %{check} --check-each-pass="block-m=128 block-n=32" --function=full --dims b=1,h=1,hk=1,sq=130,sk=300 | FileCheck %s
// RUN: %{check} --check-each-pass="block-m=128 block-n=32" --function=full --dims b=1,h=1,hk=1,sq=130,sk=300 --distribution outlier | FileCheck %s
// RUN: %{check} --check-each-pass="block-m=128 block-n=32 mode=dynamic" --function=causal --dims b=1,h=2,hk=1,sq=150,sk=300 --distribution outlier --sms 1 | FileCheck %s
// RUN: %{check} --check-each-pass="block-m=64 block-n=32 stages=1" --function=causal --dims b=1,h=1,hk=1,sq=70,sk=250 | FileCheck %s
// RUN: %{check} --check-each-pass="block-m=64 block-n=32 stages=3" --function=full --dims b=1,h=1,hk=1,sq=70,sk=250 | FileCheck %s
// RUN: %{check} --check-each-pass="block-m=64 block-n=32" --function=scaled --dims b=1,h=1,hk=1,sq=70,sk=300 --distribution outlier | FileCheck %s
// Queries with lse are scaled only on demand: it may be off by their rounding.
// RUN: %{check} --check-each-pass="block-m=128 block-n=32 scale-operands=always" --function=full --dims b=1,h=1,hk=1,sq=130,sk=300 | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// In the loop of whole blocks only, and only with lazy rescaling; not for
// integers, which ptxas would keep beside the floats that they become.
// RUN: fa3-opt %s --pass-pipeline="builtin.module(fa3-tile{block-m=128 block-n=32 tuning-table=none},fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)" | FileCheck %s --check-prefix=AUTO
// AUTO-LABEL: gpu.func @full
// AUTO: hopper.warp_if_else
// AUTO: hopper.warp_if_else
// AUTO: math.tanh
// AUTO: } else {
// AUTO-NOT: math.tanh
// AUTO: hopper.yield
// AUTO-NOT: hopper.warp_if_else
// AUTO-LABEL: gpu.func @causal
// AUTO: math.tanh
// AUTO: arith.select
// AUTO: hopper.warp_if_else
// AUTO: hopper.warp_if_else
// AUTO-NOT: hopper.warp_if_else
// Queries without lse are scaled, so that two multiplications do.
// AUTO: } else {
// AUTO-NOT: arith.mulf
// AUTO: %[[MINUS:.*]] = arith.negf %[[SCORES:.*]] : vector<16xf32>
// AUTO: %[[RATIO:.*]] = math.fma %[[MINUS]], %[[SCORES]], %{{.*}} : vector<16xf32>
// AUTO: math.fma %[[SCORES]], %[[RATIO]], %{{.*}} : vector<16xf32>
// AUTO-LABEL: gpu.func @scaled
// AUTO: hopper.warp_if_else
// AUTO-LABEL: gpu.func @integers
// AUTO-NOT: hopper.warp_if_else
// RUN: fa3-opt %s --pass-pipeline="builtin.module(fa3-tile{block-m=128 block-n=32 tuning-table=none rescale=eager},fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)" | FileCheck %s --check-prefix=NONE
// RUN: fa3-opt %s --pass-pipeline="builtin.module(fa3-tile{block-m=128 block-n=32 tuning-table=none},fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper{shorten-tanh=false})" | FileCheck %s --check-prefix=NONE
// NONE-NOT: hopper.warp_if_else
// Subnormals of what is scaled are kept.
// RUN: fa3-opt %s --fa3-lower-to-nvvm-pipeline="block-m=128 block-n=32" | FileCheck %s --check-prefix=LLVM
// LLVM-LABEL: llvm.func @causal
// LLVM: "llvm.nvvm.fma.rn.f16x2"

!t = tensor<?x?x?x64xf16>
!q = tensor<?x?x?x64xf8E4M3FN>
!i = tensor<?x?x?x64xi8>
!s = tensor<1x1x1xf32>

func.func @full(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"}) -> (!t {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.softcap<12.0>] : (!t, !t, !t) -> (!t, tensor<?x?x?xf32>)
  return %o, %lse : !t, tensor<?x?x?xf32>
}

func.func @causal(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"}) -> (!t {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v mods [#attention.softcap<8.0>, #attention.causal] : (!t, !t, !t) -> !t
  return %o : !t
}

func.func @scaled(%q: !q {tile.name = "q"}, %k: !q {tile.name = "k"}, %v: !q {tile.name = "v"}, %qs: !s {tile.name = "qs"}, %ks: !s {tile.name = "ks"}, %vs: !s {tile.name = "vs"}) -> (!t {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !s, !s) mods [#attention.softcap<20.0>] : (!q, !q, !q) -> !t
  return %o : !t
}

func.func @integers(%q: !i {tile.name = "q"}, %k: !i {tile.name = "k"}, %v: !q {tile.name = "v"}, %qs: !s {tile.name = "qs"}, %ks: !s {tile.name = "ks"}, %vs: !s {tile.name = "vs"}) -> (!t {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !s, !s) mods [#attention.softcap<20.0>] : (!i, !i, !q) -> !t
  return %o : !t
}
