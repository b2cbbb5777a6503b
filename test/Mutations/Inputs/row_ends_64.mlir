func.func @row_ends_64(%q: tensor<?x2x64xbf16> {tile.name = "q"}, %k: tensor<?x1x64xbf16> {tile.name = "k"}, %v: tensor<?x1x64xbf16> {tile.name = "v"},
                       %cuq: tensor<?xi32> {tile.name = "cu_q"}, %cuk: tensor<?xi32> {tile.name = "cu_k"}, %most: index {tile.name = "max_q"})
    -> (tensor<?x2x64xbf16> {tile.name = "o"}, tensor<2x?xf32> {tile.name = "lse"}) {
  %sequences = attention.sequences max_q %most
  %o, %lse = attention.forward %q, %k, %v aux(%cuq, %cuk : tensor<?xi32>, tensor<?xi32>)
      sequences %sequences layout bshd mods [#attention.packed<q = 0, k = 1>, #attention.causal]
    : (tensor<?x2x64xbf16>, tensor<?x1x64xbf16>, tensor<?x1x64xbf16>) -> (tensor<?x2x64xbf16>, tensor<2x?xf32>)
  return %o, %lse : tensor<?x2x64xbf16>, tensor<2x?xf32>
}
