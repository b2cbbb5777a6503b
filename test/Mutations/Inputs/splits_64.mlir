func.func @splits_64(%q: tensor<?x2x?x64xbf16> {tile.name = "q"}, %k: tensor<?x1x?x64xbf16> {tile.name = "k"}, %v: tensor<?x1x?x64xbf16> {tile.name = "v"},
                     %usedq: tensor<?xi32> {tile.name = "used_q"}, %usedk: tensor<?xi32> {tile.name = "used_k"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}, tensor<?x2x?xf32> {tile.name = "lse"}) {
  // A number that is known, so that there is one kernel that merges.
  %splits = arith.constant 2 : index
  %o, %lse = attention.forward %q, %k, %v aux(%usedq, %usedk : tensor<?xi32>, tensor<?xi32>) splits %splits
      mods [#attention.used<q = 0, k = 1>, #attention.causal]
    : (tensor<?x2x?x64xbf16>, tensor<?x1x?x64xbf16>, tensor<?x1x?x64xbf16>) -> (tensor<?x2x?x64xbf16>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x2x?x64xbf16>, tensor<?x2x?xf32>
}
