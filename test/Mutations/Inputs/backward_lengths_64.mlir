!q = tensor<?x?x64xbf16>
!l = tensor<?x?xf32>
func.func @backward_lengths_64(%q: !q {tile.name = "q"}, %k: !q {tile.name = "k"}, %v: !q {tile.name = "v"}, %o: !q {tile.name = "o"},
                               %lse: !l {tile.name = "lse"}, %do: !q {tile.name = "do"},
                               %cuq: tensor<?xi32> {tile.name = "cu_q"}, %cuk: tensor<?xi32> {tile.name = "cu_k"}) -> (!q, !q, !q) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do aux(%cuq, %cuk : tensor<?xi32>, tensor<?xi32>)
      mods [#attention.packed<q = 0, k = 1>, #attention.causal] : (!q, !q, !q, !q, !l, !q) -> (!q, !q, !q)
  return %dq, %dk, %dv : !q, !q, !q
}
