// Votes on what each lane has, in kernels of the whole pipeline: where products
// grow past the threshold late (outliers), with masks on both sides, with
// integers and runtime factors of scales, and where lanes vote on floats.
// RUN: fa3-run --cpu --check-each-pass="early-votes=integers block-m=128 block-n=32" %s --function=window --dims b=1,h=1,hk=1,sq=130,sk=170 --distribution outlier | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass="early-votes=floats block-m=128 block-n=32 mode=dynamic" %s --function=window --dims b=1,h=1,hk=1,sq=130,sk=170 --distribution outlier --sms 1 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass="block-m=64 block-n=32 stages=3" %s --function=scaled --dims b=1,h=1,hk=1,sq=70,sk=200 --distribution outlier | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass="early-votes=floats block-m=128 block-n=32" %s --function=sloped --dims b=1,h=2,hk=1,sq=130,sk=170 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass="early-votes=integers block-m=64 block-n=32 stages=1" %s --function=capped --dims b=1,h=1,hk=1,sq=70,sk=100 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass="block-m=128 block-n=32" %s --function=biased --distribution outlier | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// The default: integers in the loop of whole blocks; floats where what is read
// from shared memory is added to the products, of few columns; nothing where
// other score code edits them. Masked blocks are left alone.
// RUN: fa3-opt %s --pass-pipeline="builtin.module(fa3-tile{block-m=128 block-n=32 tuning-table=none},fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)" | FileCheck %s --check-prefix=AUTO
// AUTO-LABEL: gpu.func @window
// AUTO: hopper.warp_if %{{.*}} else %{{.*}}, %{{.*}}, %{{.*}} : vector<2xi1>, vector<2xf32>, vector<2xi32> {
// AUTO-NEXT: hopper.fragment.reduce max
// AUTO-NEXT: hopper.lane.reduce max
// AUTO-NOT: hopper.warp_if %{{.*}} : vector<2xi1>
// AUTO-LABEL: gpu.func @scaled
// AUTO: hopper.warp_if %{{.*}} else %{{.*}}, %{{.*}}, %{{.*}} : vector<2xi1>, vector<2xf32>, vector<2xi32> {
// AUTO-NEXT: hopper.fragment.reduce max
// AUTO-NEXT: hopper.lane.reduce max
// AUTO-LABEL: gpu.func @sloped
// AUTO-NOT: hopper.warp_if %{{.*}} : vector<2xi1>
// AUTO-LABEL: gpu.func @capped
// AUTO-NOT: hopper.warp_if %{{.*}} : vector<2xi1>
// AUTO-LABEL: gpu.func @biased
// AUTO: hopper.fragment.reduce max
// AUTO: hopper.vote.any
// AUTO: hopper.warp_if %{{.*}} else %{{.*}}, %{{.*}} : vector<2xi1>, vector<2xf32> {
// AUTO-NEXT: hopper.lane.reduce max

// RUN: fa3-opt %s --pass-pipeline="builtin.module(fa3-tile{block-m=128 block-n=128 tuning-table=none},fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)" | FileCheck %s --check-prefix=WIDE
// WIDE-LABEL: gpu.func @window
// WIDE: hopper.warp_if %{{.*}} : vector<2xi1>, vector<2xf32>, vector<2xi32> {
// WIDE-LABEL: gpu.func @biased
// WIDE-NOT: hopper.warp_if %{{.*}} : vector<2xi1>

!t = tensor<?x?x?x64xf16>
!q = tensor<?x?x?x64xf8E4M3FN>
!k = tensor<?x?x?x64xf8E4M3FN>
!s = tensor<1x1x1xf32>

func.func @window(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"}) -> (!t {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v mods [#attention.window<left = 100, right = 20>] : (!t, !t, !t) -> !t
  return %o : !t
}

func.func @scaled(%q: !q {tile.name = "q"}, %k: !k {tile.name = "k"}, %v: !k {tile.name = "v"}, %qs: !s {tile.name = "qs"}, %ks: !s {tile.name = "ks"}, %vs: !s {tile.name = "vs"}) -> (!t {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !s, !s) : (!q, !k, !k) -> !t
  return %o : !t
}

func.func @sloped(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"}, %slopes: tensor<?xf32> {tile.name = "slopes"}) -> (!t {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%slopes : tensor<?xf32>) mods [#attention.causal, #attention.alibi<aux = 0>] : (!t, !t, !t) -> !t
  return %o : !t
}

func.func @capped(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"}) -> (!t {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v mods [#attention.softcap<20.0>] : (!t, !t, !t) -> !t
  return %o : !t
}

!b = tensor<1x2x130x176xf16>
func.func @biased(%q: tensor<1x2x130x64xf16> {tile.name = "q"}, %k: tensor<1x1x176x64xf16> {tile.name = "k"}, %v: tensor<1x1x176x64xf16> {tile.name = "v"}, %bias: !b {tile.name = "bias"}) -> (tensor<1x2x130x64xf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%bias : !b) mods [#attention.bias<aux = 0>] : (tensor<1x2x130x64xf16>, tensor<1x1x176x64xf16>, tensor<1x1x176x64xf16>) -> tensor<1x2x130x64xf16>
  return %o : tensor<1x2x130x64xf16>
}
