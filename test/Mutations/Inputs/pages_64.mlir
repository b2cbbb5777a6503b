func.func @pages_64(%q: tensor<?x?x2x64xbf16> {tile.name = "q"}, %k: tensor<?x16x1x64xbf16> {tile.name = "k"}, %v: tensor<?x16x1x128xbf16> {tile.name = "v"},
                    %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["b", "n1"]})
    -> (tensor<?x?x2x128xbf16> {tile.name = "o"}, tensor<?x2x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%usedk, %table : tensor<?xi32>, tensor<?x?xi32>)
      layout bshd mods [#attention.used<k = 0>, #attention.paged<table = 1>, #attention.causal]
    : (tensor<?x?x2x64xbf16>, tensor<?x16x1x64xbf16>, tensor<?x16x1x128xbf16>) -> (tensor<?x?x2x128xbf16>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x?x2x128xbf16>, tensor<?x2x?xf32>
}
