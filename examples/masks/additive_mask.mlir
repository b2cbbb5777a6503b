// A bias in memory, one for all batches (Graphormer: edges and distances).
func.func @additive_mask(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                         %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                         %v: tensor<?x2x?x64xbf16> {tile.name = "v"},
                         %bias: tensor<1x2x?x?xf32> {tile.name = "bias"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    aux(%bias : tensor<1x2x?x?xf32>)
    mods [#attention.bias<aux = 0>]
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
  return %o : tensor<?x2x?x64xbf16>
}
