func.func @terms_64(%q: tensor<?x?x?x128xf8E4M3FN> {tile.name = "q"}, %k: tensor<?x?x?x64xf8E4M3FN> {tile.name = "k"}, %v: tensor<?x?x?x64xf8E4M3FN> {tile.name = "v"},
                       %qs: tensor<1x1x1xf32> {tile.name = "q_scale"}, %ks: tensor<1x1x1xf32> {tile.name = "k_scale"}, %vs: tensor<1x1x1xf32> {tile.name = "v_scale"})
    -> (tensor<?x?x?x64xf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) q_terms 2
    : (tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x64xf8E4M3FN>) -> tensor<?x?x?x64xf16>
  return %o : tensor<?x?x?x64xf16>
}
