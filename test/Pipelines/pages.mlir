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

// Pages below the key tile come in pieces, down to single keys; so do keys behind
// padding, and lists of keys.
// DEFINE: %{small} = fa3-run --cpu %s --dims b=2,sq=3
// RUN: %{small} --function=page8 --dims p0=12,n1=6 --lengths=used_k=41,8 --pages=table=random --check-each-pass | FileCheck %s
// RUN: %{small} --function=page8 --dims p0=12,n1=6 --lengths=used_k=1000,0 --pages=table=wild --check-each-pass='mode=dynamic' --completion random | FileCheck %s
// RUN: %{small} --function=page4 --dims p0=20,n1=9 --lengths=used_k=33,4 --pages=table=shared --check-each-pass | FileCheck %s
// RUN: %{small} --function=page24 --dims p0=6,n1=3 --lengths=used_k=70,25 --pages=table=reversed --check-each-pass | FileCheck %s
// RUN: %{small} --function=page1 --dims p0=50,n1=20 --lengths=used_k=20,7 --pages=table=random --check-each-pass | FileCheck %s
// RUN: %{small} --function=padded --dims p0=12,n1=3 --lengths=used_k=41,30 --lengths=pad=5,29 --pages=table=random --check-each-pass | FileCheck %s
// RUN: fa3-run --cpu %s --function=listed --dims b=2,sq=3,p0=2,tk=50,n1=20 --lengths=used_k=20,9 --fill=list=7 --check-each-pass | FileCheck %s

// The key tile is whole pages, or divides one.
// RUN: fa3-opt %s -attention-expand-mods -attention-to-tile | FileCheck %s --check-prefix=TILE
// TILE-LABEL: gpu.func @page64
// TILE: tile.scalar_load
// TILE: tile.load {{.*}} -> tensor<64x64xbf16>
// TILE-LABEL: gpu.func @page16
// TILE: tile.load {{.*}} pieces [[PIECES:[0-9]+]] (%[[NUMBER:.*]]) {
// TILE: %[[ROW:.*]] = arith.muli %[[NUMBER]], %c16
// TILE: %[[KEY:.*]] = arith.addi %{{.*}}, %[[ROW]] :
// TILE: %[[IS:.*]] = arith.cmpi slt, %[[KEY]], %{{.*}} :
// TILE: arith.minsi %[[KEY]], %{{.*}} :
// TILE: %[[PAGE:.*]] = arith.select %[[IS]], %{{.*}}, %{{dim.*}} :
// TILE: tile.yield %[[PAGE]], %{{.*}}, %{{.*}}, %{{.*}} : index, index, index, index
// TILE: } : {{.*}} -> tensor<{{[0-9]+}}x64xbf16>
// TILE: tile.load {{.*}} pieces [[PIECES]] (
// TILE-LABEL: gpu.func @page24
// TILE: tile.load {{.*}} pieces {{[0-9]+}} (
// TILE: } : {{.*}} -> tensor<{{48|96|144|192}}x64xbf16>

// A ring of whole blocks, each filled by one copy that finds its pieces.
// RUN: fa3-opt %s --pass-pipeline='builtin.module(fa3-tile,fa3-specialize)' | FileCheck %s --check-prefix=RINGS
// RINGS-LABEL: gpu.func @page8
// RINGS: warp.group @load
// RINGS: tile.load.async %{{[^\[]*}}, %{{.*}} pieces {{[0-9]+}} (
// RINGS-NOT: tile.load.async
// RINGS: warp.publish

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

func.func @page24(%q: tensor<?x?x2x64xbf16> {tile.name = "q"}, %k: tensor<?x24x1x64xbf16> {tile.name = "k"}, %v: tensor<?x24x1x64xbf16> {tile.name = "v"},
                  %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["b", "n1"]})
    -> (tensor<?x?x2x64xbf16> {tile.name = "o"}, tensor<?x2x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%usedk, %table : tensor<?xi32>, tensor<?x?xi32>)
      layout bshd mods [#attention.used<k = 0>, #attention.paged<table = 1>, #attention.causal]
    : (tensor<?x?x2x64xbf16>, tensor<?x24x1x64xbf16>, tensor<?x24x1x64xbf16>) -> (tensor<?x?x2x64xbf16>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x?x2x64xbf16>, tensor<?x2x?xf32>
}

func.func @page8(%q: tensor<?x?x2x64xbf16> {tile.name = "q"}, %k: tensor<?x8x1x64xbf16> {tile.name = "k"}, %v: tensor<?x8x1x64xbf16> {tile.name = "v"},
                  %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["b", "n1"]})
    -> (tensor<?x?x2x64xbf16> {tile.name = "o"}, tensor<?x2x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%usedk, %table : tensor<?xi32>, tensor<?x?xi32>)
      layout bshd mods [#attention.used<k = 0>, #attention.paged<table = 1>, #attention.causal]
    : (tensor<?x?x2x64xbf16>, tensor<?x8x1x64xbf16>, tensor<?x8x1x64xbf16>) -> (tensor<?x?x2x64xbf16>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x?x2x64xbf16>, tensor<?x2x?xf32>
}

func.func @page4(%q: tensor<?x?x2x64xbf16> {tile.name = "q"}, %k: tensor<?x4x1x64xbf16> {tile.name = "k"}, %v: tensor<?x4x1x64xbf16> {tile.name = "v"},
                  %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["b", "n1"]})
    -> (tensor<?x?x2x64xbf16> {tile.name = "o"}, tensor<?x2x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%usedk, %table : tensor<?xi32>, tensor<?x?xi32>)
      layout bshd mods [#attention.used<k = 0>, #attention.paged<table = 1>, #attention.causal]
    : (tensor<?x?x2x64xbf16>, tensor<?x4x1x64xbf16>, tensor<?x4x1x64xbf16>) -> (tensor<?x?x2x64xbf16>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x?x2x64xbf16>, tensor<?x2x?xf32>
}

func.func @page1(%q: tensor<?x?x2x64xbf16> {tile.name = "q"}, %k: tensor<?x1x1x64xbf16> {tile.name = "k"}, %v: tensor<?x1x1x64xbf16> {tile.name = "v"},
                  %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["b", "n1"]})
    -> (tensor<?x?x2x64xbf16> {tile.name = "o"}, tensor<?x2x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%usedk, %table : tensor<?xi32>, tensor<?x?xi32>)
      layout bshd mods [#attention.used<k = 0>, #attention.paged<table = 1>, #attention.causal]
    : (tensor<?x?x2x64xbf16>, tensor<?x1x1x64xbf16>, tensor<?x1x1x64xbf16>) -> (tensor<?x?x2x64xbf16>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x?x2x64xbf16>, tensor<?x2x?xf32>
}

func.func @padded(%q: tensor<?x?x2x64xbf16> {tile.name = "q"}, %k: tensor<?x16x1x64xbf16> {tile.name = "k"}, %v: tensor<?x16x1x64xbf16> {tile.name = "v"},
                  %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["b", "n1"]}, %pad: tensor<?xi32> {tile.name = "pad"})
    -> tensor<?x?x2x64xbf16> {
  %o = attention.forward %q, %k, %v aux(%usedk, %table, %pad : tensor<?xi32>, tensor<?x?xi32>, tensor<?xi32>)
      layout bshd mods [#attention.used<k = 0>, #attention.leftpad<aux = 2>, #attention.paged<table = 1>]
    : (tensor<?x?x2x64xbf16>, tensor<?x16x1x64xbf16>, tensor<?x16x1x64xbf16>) -> tensor<?x?x2x64xbf16>
  return %o : tensor<?x?x2x64xbf16>
}

func.func @listed(%q: tensor<?x2x?x64xbf16> {tile.name = "q"}, %k: tensor<?x1x?x64xbf16> {tile.name = "k"}, %usedk: tensor<?xi32> {tile.name = "used_k"},
                  %list: tensor<?x?xi32> {tile.name = "list", tile.dims = ["b", "n1"]}) -> tensor<?x2x?x64xbf16> {
  %sequences = attention.sequences
    place_k (%b, %h, %j) {
      %number = tensor.extract %list[%b, %j] : tensor<?x?xi32>
      %key = arith.index_cast %number : i32 to index
      attention.yield %b, %h, %key : index, index, index
    }
  %o = attention.forward %q, %k, %k aux(%usedk, %list : tensor<?xi32>, tensor<?x?xi32>) sequences %sequences mods [#attention.used<k = 0>]
    : (tensor<?x2x?x64xbf16>, tensor<?x1x?x64xbf16>, tensor<?x1x?x64xbf16>) -> tensor<?x2x?x64xbf16>
  return %o : tensor<?x2x?x64xbf16>
}
