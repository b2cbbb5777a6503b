func.func @lengths_64(%q: tensor<?x?x?x64xbf16> {tile.name = "q"}, %k: tensor<?x?x?x64xbf16> {tile.name = "k"}, %v: tensor<?x?x?x64xbf16> {tile.name = "v"},
                      %usedq: tensor<?xi32> {tile.name = "used_q"}, %usedk: tensor<?xi32> {tile.name = "used_k"})
    -> (tensor<?x?x?x64xbf16> {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%usedq, %usedk : tensor<?xi32>, tensor<?xi32>)
      mods [#attention.used<q = 0, k = 1>, #attention.causal]
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
