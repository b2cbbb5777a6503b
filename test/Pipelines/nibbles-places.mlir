// Keys and values of 4 bits, two in a byte, with a scale for every row, beside
// queries of 16 bits, of sequences that lie one behind the other or in pages: the same
// answer after every pass.

// RUN: fa3-run --cpu %s --function=packed --dims tq=230,tk=330,b1=6 --lengths=cu_q=64,0,3,65,90 --lengths=cu_k=65,70,0,66,127 --scalar max_q=90 --check-each-pass | FileCheck %s

// DEFINE: %{pages} = fa3-run --cpu %s --dims b=3,sq=3,p0=11,n1=4
// RUN: %{pages} --function=page64 --lengths=used_k=130,0,65 --pages=table=random --scalar splits=2 --check-each-pass | FileCheck %s
// RUN: %{pages} --function=page64 --lengths=used_k=130,0,65 --pages=table=wild --scalar splits=1 --check-each-pass='mode=static' --sms 2 --completion random | FileCheck %s
// RUN: %{pages} --function=page16 --lengths=used_k=33,16,1 --pages=table=random --check-each-pass | FileCheck %s
// RUN: %{pages} --function=page4 --lengths=used_k=13,16,1 --pages=table=shared --check-each-pass --guards random | FileCheck %s

// CHECK: same answer after {{[0-9]+}} passes

func.func @packed(%q: tensor<?x4x64xbf16> {tile.name = "q"}, %k: tensor<?x2x32xi8> {tile.name = "k"}, %v: tensor<?x2x32xi8> {tile.name = "v"},
                  %cuq: tensor<?xi32> {tile.name = "cu_q"}, %cuk: tensor<?xi32> {tile.name = "cu_k"}, %max: i32 {tile.name = "max_q"},
                  %ks: tensor<2x?xf32> {tile.name = "k_scale"}, %vs: tensor<2x?xf32> {tile.name = "v_scale"})
    -> (tensor<?x4x64xbf16> {tile.name = "o"}, tensor<4x?xf32> {tile.name = "lse"}) {
  %most = arith.index_cast %max : i32 to index
  %sequences = attention.sequences max_q %most
  %o, %lse = attention.forward %q, %k, %v aux(%cuq, %cuk : tensor<?xi32>, tensor<?xi32>)
      nibbles(%ks, %vs : tensor<2x?xf32>, tensor<2x?xf32>) sequences %sequences layout bshd
      mods [#attention.packed<q = 0, k = 1>, #attention.causal]
    : (tensor<?x4x64xbf16>, tensor<?x2x32xi8>, tensor<?x2x32xi8>) -> (tensor<?x4x64xbf16>, tensor<4x?xf32>)
  return %o, %lse : tensor<?x4x64xbf16>, tensor<4x?xf32>
}

func.func @page64(%q: tensor<?x2x?x128xbf16> {tile.name = "q"}, %k: tensor<?x1x64x64xi8> {tile.name = "k"}, %v: tensor<?x1x64x64xi8> {tile.name = "v"},
                  %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["b", "n1"]},
                  %ks: tensor<?x1x64xf32> {tile.name = "k_scale"}, %vs: tensor<?x1x64xf32> {tile.name = "v_scale"}, %splits: i32 {tile.name = "splits"})
    -> (tensor<?x2x?x128xbf16> {tile.name = "o"}, tensor<?x2x?xf32> {tile.name = "lse"}) {
  %n = arith.index_cast %splits : i32 to index
  %o, %lse = attention.forward %q, %k, %v aux(%usedk, %table : tensor<?xi32>, tensor<?x?xi32>)
      nibbles(%ks, %vs : tensor<?x1x64xf32>, tensor<?x1x64xf32>) splits %n
      mods [#attention.used<k = 0>, #attention.paged<table = 1>, #attention.causal]
    : (tensor<?x2x?x128xbf16>, tensor<?x1x64x64xi8>, tensor<?x1x64x64xi8>) -> (tensor<?x2x?x128xbf16>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x2x?x128xbf16>, tensor<?x2x?xf32>
}

func.func @page16(%q: tensor<?x?x2x128xf16> {tile.name = "q"}, %k: tensor<?x16x1x64xi8> {tile.name = "k"}, %v: tensor<?x16x1x64xi8> {tile.name = "v"},
                  %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["b", "n1"]},
                  %ks: tensor<?x1x16xf32> {tile.name = "k_scale"}, %vs: tensor<?x1x16xf32> {tile.name = "v_scale"})
    -> (tensor<?x?x2x128xf16> {tile.name = "o"}, tensor<?x2x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%usedk, %table : tensor<?xi32>, tensor<?x?xi32>)
      nibbles(%ks, %vs : tensor<?x1x16xf32>, tensor<?x1x16xf32>) layout bshd
      mods [#attention.used<k = 0>, #attention.paged<table = 1>]
    : (tensor<?x?x2x128xf16>, tensor<?x16x1x64xi8>, tensor<?x16x1x64xi8>) -> (tensor<?x?x2x128xf16>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x?x2x128xf16>, tensor<?x2x?xf32>
}

func.func @page4(%q: tensor<?x?x2x64xbf16> {tile.name = "q"}, %k: tensor<?x4x1x32xi8> {tile.name = "k"}, %v: tensor<?x4x1x32xi8> {tile.name = "v"},
                 %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["b", "n1"]},
                 %ks: tensor<?x1x4xf32> {tile.name = "k_scale"}, %vs: tensor<?x1x4xf32> {tile.name = "v_scale"})
    -> tensor<?x?x2x64xbf16> {
  %o = attention.forward %q, %k, %v aux(%usedk, %table : tensor<?xi32>, tensor<?x?xi32>)
      nibbles(%ks, %vs : tensor<?x1x4xf32>, tensor<?x1x4xf32>) layout bshd
      mods [#attention.used<k = 0>, #attention.paged<table = 1>, #attention.causal]
    : (tensor<?x?x2x64xbf16>, tensor<?x4x1x32xi8>, tensor<?x4x1x32xi8>) -> tensor<?x?x2x64xbf16>
  return %o : tensor<?x?x2x64xbf16>
}
