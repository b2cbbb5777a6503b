// 8-bit sequences that lie one behind the other or in pages, with scales of the
// call, of sequences and of heads: the same answer after every pass, and right by
// definition.
// DEFINE: %{packed} = fa3-run --cpu %s --function=packed --dims tq=230,tk=330,b1=6,b=5 --lengths=cu_q=64,0,3,65,90 --lengths=cu_k=65,70,0,66,127
// RUN: %{packed} --scalar max_q=90 --check-each-pass | FileCheck %s
// RUN: %{packed} --scalar max_q=64 --check-each-pass='block-m=64 block-n=32 mode=static' --sms 2 --completion random | FileCheck %s
// RUN: %{packed} --scalar max_q=200 --check-each-pass='order=list block-m=128 mode=dynamic' --sms 2 --schedule-seed 3 --guards random | FileCheck %s
// Starts that are none.
// RUN: fa3-run --cpu %s --function=packed --dims tq=230,tk=330,b1=4,b=3 --scalar max_q=300 --lengths=cu_q=-5,100,2000000000 --lengths=cu_k=100,-70,2000000000 --check-each-pass='block-m=128' | FileCheck %s

// DEFINE: %{pages} = fa3-run --cpu %s --dims b=3,sq=3,p0=11,n1=4
// RUN: %{pages} --function=page64 --lengths=used_k=130,0,65 --pages=table=random --check-each-pass | FileCheck %s
// RUN: %{pages} --function=page64 --lengths=used_k=130,0,65 --pages=table=wild --check-each-pass='mode=static' --sms 2 --completion random | FileCheck %s
// RUN: %{pages} --function=page16 --lengths=used_k=33,16,1 --pages=table=random --check-each-pass='mode=dynamic' --schedule-seed 3 | FileCheck %s
// RUN: %{pages} --function=page4 --lengths=used_k=13,16,1 --pages=table=shared --check-each-pass --guards random | FileCheck %s

// q and k as integers.
// RUN: %{pages} --function=integers --lengths=used_k=120,0,33 --pages=table=random --check-each-pass | FileCheck %s

// CHECK: same answer after {{[0-9]+}} passes

// One scale for all sequences, one for each sequence, one for its key heads.
func.func @packed(%q: tensor<?x4x64xf8E4M3FN> {tile.name = "q"}, %k: tensor<?x2x64xf8E4M3FN> {tile.name = "k"}, %v: tensor<?x2x64xf8E4M3FN> {tile.name = "v"},
                  %cuq: tensor<?xi32> {tile.name = "cu_q"}, %cuk: tensor<?xi32> {tile.name = "cu_k"}, %max: i32 {tile.name = "max_q"},
                  %qs: tensor<?x2x1xf32> {tile.name = "q_scale", tile.dims = ["b", "", ""]}, %ks: tensor<?x1x1xf32> {tile.name = "k_scale", tile.dims = ["b", "", ""]}, %vs: tensor<1x2x1xf32> {tile.name = "v_scale"})
    -> (tensor<?x4x64xbf16> {tile.name = "o"}, tensor<4x?xf32> {tile.name = "lse"}) {
  %most = arith.index_cast %max : i32 to index
  %sequences = attention.sequences max_q %most
  %o, %lse = attention.forward %q, %k, %v aux(%cuq, %cuk : tensor<?xi32>, tensor<?xi32>)
      scales(%qs, %ks, %vs : tensor<?x2x1xf32>, tensor<?x1x1xf32>, tensor<1x2x1xf32>) sequences %sequences layout bshd
      mods [#attention.packed<q = 0, k = 1>, #attention.causal]
    : (tensor<?x4x64xf8E4M3FN>, tensor<?x2x64xf8E4M3FN>, tensor<?x2x64xf8E4M3FN>) -> (tensor<?x4x64xbf16>, tensor<4x?xf32>)
  return %o, %lse : tensor<?x4x64xbf16>, tensor<4x?xf32>
}

func.func @page64(%q: tensor<?x2x?x64xf8E4M3FN> {tile.name = "q"}, %k: tensor<?x1x64x64xf8E4M3FN> {tile.name = "k"}, %v: tensor<?x1x64x64xf8E4M3FN> {tile.name = "v"},
                  %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["b", "n1"]},
                  %qs: tensor<1x1x1xf32> {tile.name = "q_scale"}, %ks: tensor<1x1x1xf32> {tile.name = "k_scale"}, %vs: tensor<1x1x1xf32> {tile.name = "v_scale"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}, tensor<?x2x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%usedk, %table : tensor<?xi32>, tensor<?x?xi32>)
      scales(%qs, %ks, %vs : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
      mods [#attention.used<k = 0>, #attention.paged<table = 1>, #attention.causal]
    : (tensor<?x2x?x64xf8E4M3FN>, tensor<?x1x64x64xf8E4M3FN>, tensor<?x1x64x64xf8E4M3FN>) -> (tensor<?x2x?x64xbf16>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x2x?x64xbf16>, tensor<?x2x?xf32>
}

func.func @page16(%q: tensor<?x?x2x128xf8E5M2> {tile.name = "q"}, %k: tensor<?x16x1x128xf8E5M2> {tile.name = "k"}, %v: tensor<?x16x1x128xf8E5M2> {tile.name = "v"},
                  %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["b", "n1"]},
                  %qs: tensor<?x1x1xf32> {tile.name = "q_scale", tile.dims = ["b", "", ""]}, %ks: tensor<?x1x1xf32> {tile.name = "k_scale", tile.dims = ["b", "", ""]}, %vs: tensor<?x1x1xf32> {tile.name = "v_scale", tile.dims = ["b", "", ""]})
    -> (tensor<?x?x2x128xf16> {tile.name = "o"}, tensor<?x2x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%usedk, %table : tensor<?xi32>, tensor<?x?xi32>)
      scales(%qs, %ks, %vs : tensor<?x1x1xf32>, tensor<?x1x1xf32>, tensor<?x1x1xf32>) layout bshd
      mods [#attention.used<k = 0>, #attention.paged<table = 1>]
    : (tensor<?x?x2x128xf8E5M2>, tensor<?x16x1x128xf8E5M2>, tensor<?x16x1x128xf8E5M2>) -> (tensor<?x?x2x128xf16>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x?x2x128xf16>, tensor<?x2x?xf32>
}

func.func @page4(%q: tensor<?x?x2x64xf8E4M3FN> {tile.name = "q"}, %k: tensor<?x4x1x64xf8E4M3FN> {tile.name = "k"}, %v: tensor<?x4x1x64xf8E4M3FN> {tile.name = "v"},
                 %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["b", "n1"]},
                 %qs: tensor<1x1x1xf32> {tile.name = "q_scale"}, %ks: tensor<1x1x1xf32> {tile.name = "k_scale"}, %vs: tensor<1x1x1xf32> {tile.name = "v_scale"})
    -> tensor<?x?x2x64xbf16> {
  %o = attention.forward %q, %k, %v aux(%usedk, %table : tensor<?xi32>, tensor<?x?xi32>)
      scales(%qs, %ks, %vs : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) layout bshd
      mods [#attention.used<k = 0>, #attention.paged<table = 1>, #attention.causal]
    : (tensor<?x?x2x64xf8E4M3FN>, tensor<?x4x1x64xf8E4M3FN>, tensor<?x4x1x64xf8E4M3FN>) -> tensor<?x?x2x64xbf16>
  return %o : tensor<?x?x2x64xbf16>
}

func.func @integers(%q: tensor<?x?x2x64xi8> {tile.name = "q"}, %k: tensor<?x32x1x64xi8> {tile.name = "k"}, %v: tensor<?x32x1x64xf8E4M3FN> {tile.name = "v"},
                    %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["b", "n1"]},
                    %qs: tensor<1x1x1xf32> {tile.name = "q_scale"}, %ks: tensor<1x1x1xf32> {tile.name = "k_scale"}, %vs: tensor<1x1x1xf32> {tile.name = "v_scale"})
    -> tensor<?x?x2x64xbf16> {
  %o = attention.forward %q, %k, %v aux(%usedk, %table : tensor<?xi32>, tensor<?x?xi32>)
      scales(%qs, %ks, %vs : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
      layout bshd mods [#attention.used<k = 0>, #attention.paged<table = 1>, #attention.causal]
    : (tensor<?x?x2x64xi8>, tensor<?x32x1x64xi8>, tensor<?x32x1x64xf8E4M3FN>) -> tensor<?x?x2x64xbf16>
  return %o : tensor<?x?x2x64xbf16>
}

// Splits, left padding and a batch index.
// RUN: fa3-run --cpu %s --function=indexed --dims b=2,sq=3,p0=4,tk=150 --lengths=used_k=150,41 --lengths=index=3,1 --lengths=pad=13,0 --scalar splits=3 --check-each-pass | FileCheck %s
func.func @indexed(%q: tensor<?x4x?x128xf8E4M3FN> {tile.name = "q"}, %k: tensor<?x2x?x128xf8E4M3FN> {tile.name = "k"}, %v: tensor<?x2x?x128xf8E4M3FN> {tile.name = "v"},
                   %usedk: tensor<?xi32> {tile.name = "used_k"}, %index: tensor<?xi32> {tile.name = "index"}, %pad: tensor<?xi32> {tile.name = "pad"}, %splits: i32 {tile.name = "splits"},
                   %qs: tensor<?x2x1xf32> {tile.name = "q_scale", tile.dims = ["b", "", ""]}, %ks: tensor<?x2x1xf32> {tile.name = "k_scale", tile.dims = ["b", "", ""]}, %vs: tensor<?x2x1xf32> {tile.name = "v_scale", tile.dims = ["b", "", ""]})
    -> (tensor<?x4x?x128xbf16> {tile.name = "o"}, tensor<?x4x?xf32> {tile.name = "lse"}) {
  %n = arith.index_cast %splits : i32 to index
  %o, %lse = attention.forward %q, %k, %v aux(%usedk, %index, %pad : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>)
      scales(%qs, %ks, %vs : tensor<?x2x1xf32>, tensor<?x2x1xf32>, tensor<?x2x1xf32>) splits %n
      mods [#attention.used<k = 0>, #attention.batch_index<aux = 1>, #attention.leftpad<aux = 2>, #attention.causal]
    : (tensor<?x4x?x128xf8E4M3FN>, tensor<?x2x?x128xf8E4M3FN>, tensor<?x2x?x128xf8E4M3FN>) -> (tensor<?x4x?x128xbf16>, tensor<?x4x?xf32>)
  return %o, %lse : tensor<?x4x?x128xbf16>, tensor<?x4x?xf32>
}
