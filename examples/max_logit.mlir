// Attention of a training step with MuonClip (Kimi K2, arXiv 2507.20534): beside
// the output and the log-sum-exp the largest score of every query. Its maximum
// over batch and queries is a head's largest logit, by which QK-clip scales the
// weights of queries and keys.
func.func @max_logit(
    %q: tensor<?x64x?x192xbf16> {tile.name = "q"},
    %k: tensor<?x64x?x192xbf16> {tile.name = "k"},
    %v: tensor<?x64x?x128xbf16> {tile.name = "v"})
    -> (tensor<?x64x?x128xbf16> {tile.name = "o"},
        tensor<?x64x?xf32> {tile.name = "lse"},
        tensor<?x64x?xf32> {tile.name = "max_logits"}) {
  %o, %lse, %max = attention.forward %q, %k, %v max_logits mods [#attention.causal]
    : (tensor<?x64x?x192xbf16>, tensor<?x64x?x192xbf16>, tensor<?x64x?x128xbf16>)
    -> (tensor<?x64x?x128xbf16>, tensor<?x64x?xf32>, tensor<?x64x?xf32>)
  return %o, %lse, %max : tensor<?x64x?x128xbf16>, tensor<?x64x?xf32>, tensor<?x64x?xf32>
}
