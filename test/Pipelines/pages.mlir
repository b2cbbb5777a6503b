// Keys in pages: the same answer after every pass, and right by definition,
// whatever the page table holds.
// DEFINE: %{run} = fa3-run --cpu %s --dims b=3,sq=3,p0=11,n1=4
// DEFINE: %{lengths} = --lengths=used_k=130,0,65
// RUN: %{run} --function=page64 %{lengths} --pages=table=random --check-each-pass | FileCheck %s
// RUN: %{run} --function=page64 %{lengths} --pages=table=reversed --check-each-pass='block-n=16 mode=static' --sms 2 --completion random | FileCheck %s
// RUN: %{run} --function=page64 %{lengths} --pages=table=shared --check-each-pass | FileCheck %s
// RUN: %{run} --function=page64 %{lengths} --pages=table=wild --check-each-pass | FileCheck %s
// RUN: %{run} --function=page64 --lengths=used_k=1000000,-5,2000000000 --pages=table=wild --check-each-pass='block-m=128 mode=dynamic' | FileCheck %s
// RUN: %{run} --function=page16 --lengths=used_k=33,16,1 --pages=table=random --check-each-pass | FileCheck %s
// Sequences of the table by a number of their own, which may be none of it.
// RUN: fa3-run --cpu %s --function=indexed --dims b=3,sq=3,p0=11,n0=5,n1=4 --lengths=used_k=130,64,65 --lengths=index=4,0,4 --pages=table=random --check-each-pass | FileCheck %s
// RUN: fa3-run --cpu %s --function=indexed --dims b=3,sq=3,p0=11,n0=5,n1=4 --lengths=used_k=130,64,65 --lengths=index=-4,5,2000000000 --pages=table=random --check-each-pass | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// The key tile divides the page.
// RUN: fa3-opt %s -attention-expand-mods -attention-to-tile | FileCheck %s --check-prefix=TILE
// TILE-LABEL: gpu.func @page64
// TILE: tile.scalar_load
// TILE: tile.load {{.*}} -> tensor<64x64xbf16>
// TILE-LABEL: gpu.func @page16
// TILE: tile.load {{.*}} -> tensor<16x64xbf16>

func.func @page64(%q: tensor<?x2x?x64xbf16> {tile.name = "q"}, %k: tensor<?x1x64x64xbf16> {tile.name = "k"}, %v: tensor<?x1x64x64xbf16> {tile.name = "v"},
                  %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["b", "n1"]})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}, tensor<?x2x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%usedk, %table : tensor<?xi32>, tensor<?x?xi32>)
      mods [#attention.used<k = 0>, #attention.paged<table = 1>, #attention.causal]
    : (tensor<?x2x?x64xbf16>, tensor<?x1x64x64xbf16>, tensor<?x1x64x64xbf16>) -> (tensor<?x2x?x64xbf16>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x2x?x64xbf16>, tensor<?x2x?xf32>
}

func.func @page16(%q: tensor<?x?x2x64xbf16> {tile.name = "q"}, %k: tensor<?x16x1x64xbf16> {tile.name = "k"}, %v: tensor<?x16x1x64xbf16> {tile.name = "v"},
                  %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["b", "n1"]})
    -> (tensor<?x?x2x64xbf16> {tile.name = "o"}, tensor<?x2x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%usedk, %table : tensor<?xi32>, tensor<?x?xi32>)
      layout bshd mods [#attention.used<k = 0>, #attention.paged<table = 1>]
    : (tensor<?x?x2x64xbf16>, tensor<?x16x1x64xbf16>, tensor<?x16x1x64xbf16>) -> (tensor<?x?x2x64xbf16>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x?x2x64xbf16>, tensor<?x2x?xf32>
}

func.func @indexed(%q: tensor<?x2x?x64xbf16> {tile.name = "q"}, %k: tensor<?x1x64x64xbf16> {tile.name = "k"}, %v: tensor<?x1x64x64xbf16> {tile.name = "v"},
                   %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["n0", "n1"]}, %index: tensor<?xi32> {tile.name = "index"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}, tensor<?x2x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%usedk, %table, %index : tensor<?xi32>, tensor<?x?xi32>, tensor<?xi32>)
      mods [#attention.used<k = 0>, #attention.batch_index<aux = 2>, #attention.paged<table = 1>]
    : (tensor<?x2x?x64xbf16>, tensor<?x1x64x64xbf16>, tensor<?x1x64x64xbf16>) -> (tensor<?x2x?x64xbf16>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x2x?x64xbf16>, tensor<?x2x?xf32>
}
