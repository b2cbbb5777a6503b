func.func @float8_pages_64(%q: tensor<?x?x2x64xf8E4M3FN> {tile.name = "q"}, %k: tensor<?x16x1x64xf8E4M3FN> {tile.name = "k"}, %v: tensor<?x16x1x64xf8E4M3FN> {tile.name = "v"},
                           %usedk: tensor<?xi32> {tile.name = "used_k"}, %table: tensor<?x?xi32> {tile.name = "table", tile.dims = ["b", "n1"]},
                           %qs: tensor<?x1x1xf32> {tile.name = "q_scale", tile.dims = ["b", "", ""]}, %ks: tensor<?x1x1xf32> {tile.name = "k_scale", tile.dims = ["b", "", ""]}, %vs: tensor<?x1x1xf32> {tile.name = "v_scale", tile.dims = ["b", "", ""]})
    -> (tensor<?x?x2x64xf16> {tile.name = "o"}, tensor<?x2x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%usedk, %table : tensor<?xi32>, tensor<?x?xi32>)
      scales(%qs, %ks, %vs : tensor<?x1x1xf32>, tensor<?x1x1xf32>, tensor<?x1x1xf32>)
      layout bshd mods [#attention.used<k = 0>, #attention.paged<table = 1>, #attention.causal]
    : (tensor<?x?x2x64xf8E4M3FN>, tensor<?x16x1x64xf8E4M3FN>, tensor<?x16x1x64xf8E4M3FN>) -> (tensor<?x?x2x64xf16>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x?x2x64xf16>, tensor<?x2x?xf32>
}
