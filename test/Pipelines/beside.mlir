// What no sequence uses holds NaN, infinities or the largest numbers: the same answer after every
// pass, which is that of the definition, which does not look there; and the same bits in the end.

// DEFINE: %{last} = --pass-pipeline='builtin.module(fa3-tile{backward-form=split},fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' --require-fences
// DEFINE: %{put} = %python %S/Inputs/beside.py
// RUN: split-file %s %t

// Sequences one behind the other, of which some rows count; none of the others is.
// DEFINE: %{packed} = fa3-run --cpu %t/packed.mlir --dims tq=150,tk=260,b1=4,b=3 --lengths=cu_q=10,70,70 --lengths=cu_k=64,130,66 --lengths=used_q=0,70,3 --lengths=used_k=9,129,0
// DEFINE: %{arrays} = --input q=%t/q.npy --input k=%t/k.npy
// RUN: %{put} %t/q.npy 150x2x64 0 nan 10-80
// RUN: %{put} %t/k.npy 260x1x64 0 nan 64-193
// RUN: %{put} %t/v.npy 260x1x64 0 nan 64-193
// RUN: %{put} %t/large.npy 260x1x64 0 65504 64-193
// RUN: %{packed} %{arrays} --input v=%t/v.npy --check-each-pass='block-m=128 block-n=80' | FileCheck %s
// RUN: %{packed} %{arrays} --input v=%t/v.npy %{last} --output o=%t/o.npy | FileCheck %s --check-prefix=FORWARD
// RUN: %{packed} %{arrays} --input v=%t/large.npy %{last} --output o=%t/o1.npy | FileCheck %s --check-prefix=FORWARD
// RUN: cmp %t/o.npy %t/o1.npy

// Their gradients.
// DEFINE: %{grads} = fa3-run --cpu %t/grads.mlir --dims tq=150,tk=260,b1=4,b=3 --lengths=cu_q=10,70,70 --lengths=cu_k=64,130,66 --lengths=used_q=0,70,3 --lengths=used_k=9,129,0
// RUN: %{put} %t/do.npy 150x2x64 0 inf 10-80
// RUN: %{put} %t/do1.npy 150x2x64 0 65504 10-80
// RUN: %{grads} %{arrays} --input v=%t/v.npy --input do=%t/do.npy --check-each-pass='backward-form=split' | FileCheck %s
// RUN: %{grads} %{arrays} --input v=%t/v.npy --input do=%t/do.npy --check-each-pass='backward-form=fused' | FileCheck %s
// RUN: %{grads} %{arrays} --input v=%t/v.npy --input do=%t/do.npy %{last} --output dq=%t/dq.npy --output dk=%t/dk.npy --output dv=%t/dv.npy | FileCheck %s --check-prefix=GRADS
// RUN: %{grads} %{arrays} --input v=%t/large.npy --input do=%t/do1.npy %{last} --output dq=%t/dq1.npy --output dk=%t/dk1.npy --output dv=%t/dv1.npy | FileCheck %s --check-prefix=GRADS
// RUN: cmp %t/dq.npy %t/dq1.npy
// RUN: cmp %t/dk.npy %t/dk1.npy
// RUN: cmp %t/dv.npy %t/dv1.npy

// Pages that a tile of keys is a part of, that are the tile, and that are pieces of it. Page n of
// the table is page n of the cache.
// RUN: %{put} %t/k16.npy 8x16x1x64 1 nan 0@0-16 1@0-16 2@0-16 3@0-5 4@0-1
// RUN: %{put} %t/v16.npy 8x16x1x64 1 inf 0@0-16 1@0-16 2@0-16 3@0-5 4@0-1
// RUN: fa3-run --cpu %t/page16.mlir --dims b=2,sq=3,p0=8,n1=4 --pages=table=identity --lengths=used_k=53,1 --input k=%t/k16.npy --input v=%t/v16.npy --check-each-pass | FileCheck %s
// RUN: %{put} %t/k64.npy 4x64x1x64 1 inf 0@0-64 1@0-33 2@0-1
// RUN: %{put} %t/v64.npy 4x64x1x64 1 nan 0@0-64 1@0-33 2@0-1
// RUN: fa3-run --cpu %t/page64.mlir --dims b=2,sq=3,p0=4,n1=2 --pages=table=identity --lengths=used_k=97,1 --input k=%t/k64.npy --input v=%t/v64.npy --check-each-pass | FileCheck %s
// RUN: fa3-run --cpu %t/page64.mlir --dims b=2,sq=3,p0=4,n1=2 --pages=table=identity --lengths=used_k=97,1 --input k=%t/k64.npy --input v=%t/v64.npy --check-each-pass='block-n=32' | FileCheck %s

// CHECK: same answer after {{[0-9]+}} passes
// FORWARD: o: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// GRADS: dq: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// GRADS: dk: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// GRADS: dv: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}

//--- packed.mlir
func.func @packed(%q: tensor<?x2x64xf16> {tile.name = "q"}, %k: tensor<?x1x64xf16> {tile.name = "k"}, %v: tensor<?x1x64xf16> {tile.name = "v"},
                  %cuq: tensor<?xi32> {tile.name = "cu_q"}, %cuk: tensor<?xi32> {tile.name = "cu_k"},
                  %usedq: tensor<?xi32> {tile.name = "used_q"}, %usedk: tensor<?xi32> {tile.name = "used_k"})
    -> (tensor<?x2x64xf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%cuq, %cuk, %usedq, %usedk : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) layout bshd
      mods [#attention.packed<q = 0, k = 1>, #attention.used<q = 2, k = 3>, #attention.causal]
    : (tensor<?x2x64xf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16>) -> tensor<?x2x64xf16>
  return %o : tensor<?x2x64xf16>
}

//--- grads.mlir
func.func @grads(%q: tensor<?x2x64xf16> {tile.name = "q"}, %k: tensor<?x1x64xf16> {tile.name = "k"}, %v: tensor<?x1x64xf16> {tile.name = "v"},
                 %o: tensor<?x2x64xf16> {tile.name = "o"}, %lse: tensor<2x?xf32> {tile.name = "lse"}, %do: tensor<?x2x64xf16> {tile.name = "do"},
                 %cuq: tensor<?xi32> {tile.name = "cu_q"}, %cuk: tensor<?xi32> {tile.name = "cu_k"},
                 %usedq: tensor<?xi32> {tile.name = "used_q"}, %usedk: tensor<?xi32> {tile.name = "used_k"})
    -> (tensor<?x2x64xf16> {tile.name = "dq"}, tensor<?x1x64xf16> {tile.name = "dk"}, tensor<?x1x64xf16> {tile.name = "dv"}) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
      aux(%cuq, %cuk, %usedq, %usedk : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) layout bshd
      mods [#attention.packed<q = 0, k = 1>, #attention.used<q = 2, k = 3>, #attention.causal]
    : (tensor<?x2x64xf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16>, tensor<?x2x64xf16>, tensor<2x?xf32>, tensor<?x2x64xf16>)
    -> (tensor<?x2x64xf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16>)
  return %dq, %dk, %dv : tensor<?x2x64xf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16>
}

//--- page16.mlir
func.func @page16(%q: tensor<?x?x2x64xf16> {tile.name = "q"}, %k: tensor<?x16x1x64xf16> {tile.name = "k"}, %v: tensor<?x16x1x64xf16> {tile.name = "v"},
                  %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["b", "n1"]})
    -> (tensor<?x?x2x64xf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%usedk, %table : tensor<?xi32>, tensor<?x?xi32>)
      layout bshd mods [#attention.used<k = 0>, #attention.paged<table = 1>]
    : (tensor<?x?x2x64xf16>, tensor<?x16x1x64xf16>, tensor<?x16x1x64xf16>) -> tensor<?x?x2x64xf16>
  return %o : tensor<?x?x2x64xf16>
}

//--- page64.mlir
func.func @page64(%q: tensor<?x?x2x64xf16> {tile.name = "q"}, %k: tensor<?x64x1x64xf16> {tile.name = "k"}, %v: tensor<?x64x1x64xf16> {tile.name = "v"},
                  %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["b", "n1"]})
    -> (tensor<?x?x2x64xf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%usedk, %table : tensor<?xi32>, tensor<?x?xi32>)
      layout bshd mods [#attention.used<k = 0>, #attention.paged<table = 1>, #attention.causal]
    : (tensor<?x?x2x64xf16>, tensor<?x64x1x64xf16>, tensor<?x64x1x64xf16>) -> tensor<?x?x2x64xf16>
  return %o : tensor<?x?x2x64xf16>
}
