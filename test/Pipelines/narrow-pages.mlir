// Pages of fewer rows than a copy may start with, in rows of less than 128 bytes:
// keys then lie in wider rows of shared memory.

// DEFINE: %{check} = fa3-run --cpu %s --check-each-pass --pages=page_table=random

// RUN: %{check} --function=tokens --dims b=2,sq=3,p0=160,pages_of_sequence=90 --lengths=used_k=70,9 | FileCheck %s
// RUN: %{check} --function=pairs --dims b=2,sq=70,p0=90,pages_of_sequence=40 --lengths=used_k=75,0 | FileCheck %s
// RUN: %{check} --function=small --dims b=2,sq=1,q_scale.0=1,k_scale.0=1,v_scale.0=1,p0=160,pages_of_sequence=90 --lengths=used_k=70,33 --scalar splits=2 | FileCheck %s
// CHECK: same answer after

!q = tensor<?x?x4x96xbf16>
!kv = tensor<?x1x2x96xbf16>
func.func @tokens(%q: !q {tile.name = "q"}, %k: !kv {tile.name = "k"}, %v: !kv {tile.name = "v"},
                  %table: tensor<?x?xi32> {tile.name = "page_table", tile.dims = ["b", "pages_of_sequence"]}, %used: tensor<?xi32> {tile.name = "used_k"})
    -> (!q {tile.name = "o"}, tensor<?x4x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%table, %used : tensor<?x?xi32>, tensor<?xi32>) layout bshd
      mods [#attention.used<k = 1>, #attention.paged<table = 0>, #attention.causal] : (!q, !kv, !kv) -> (!q, tensor<?x4x?xf32>)
  return %o, %lse : !q, tensor<?x4x?xf32>
}

!n = tensor<?x?x4x16xf16>
!pair = tensor<?x2x2x16xf16>
func.func @pairs(%q: !n {tile.name = "q"}, %k: !pair {tile.name = "k"}, %v: !pair {tile.name = "v"},
                 %table: tensor<?x?xi32> {tile.name = "page_table", tile.dims = ["b", "pages_of_sequence"]}, %used: tensor<?xi32> {tile.name = "used_k"})
    -> (!n {tile.name = "o"}, tensor<?x4x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%table, %used : tensor<?x?xi32>, tensor<?xi32>) layout bshd
      mods [#attention.used<k = 1>, #attention.paged<table = 0>] : (!n, !pair, !pair) -> (!n, tensor<?x4x?xf32>)
  return %o, %lse : !n, tensor<?x4x?xf32>
}

!e = tensor<?x?x4x64xf8E4M3FN>
!ekv = tensor<?x1x2x64xf8E4M3FN>
!out = tensor<?x?x4x64xbf16>
func.func @small(%q: !e {tile.name = "q"}, %k: !ekv {tile.name = "k"}, %v: !ekv {tile.name = "v"},
                 %qs: tensor<?x1x1xf32> {tile.name = "q_scale"}, %ks: tensor<?x2x1xf32> {tile.name = "k_scale"}, %vs: tensor<?x2x1xf32> {tile.name = "v_scale"},
                 %table: tensor<?x?xi32> {tile.name = "page_table", tile.dims = ["b", "pages_of_sequence"]}, %used: tensor<?xi32> {tile.name = "used_k"}, %splits: i32 {tile.name = "splits"})
    -> (!out {tile.name = "o"}, tensor<?x4x?xf32> {tile.name = "lse"}) {
  %n = arith.index_cast %splits : i32 to index
  %o, %lse = attention.forward %q, %k, %v aux(%table, %used : tensor<?x?xi32>, tensor<?xi32>)
      scales(%qs, %ks, %vs : tensor<?x1x1xf32>, tensor<?x2x1xf32>, tensor<?x2x1xf32>) splits %n layout bshd
      mods [#attention.used<k = 1>, #attention.paged<table = 0>] : (!e, !ekv, !ekv) -> (!out, tensor<?x4x?xf32>)
  return %o, %lse : !out, tensor<?x4x?xf32>
}
