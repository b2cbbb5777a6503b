// A penalty by distance, one slope per head.
func.func @alibi(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                 %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                 %v: tensor<?x2x?x64xbf16> {tile.name = "v"},
                 %slopes: tensor<2xf32> {tile.name = "slopes"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    aux(%slopes : tensor<2xf32>)
    mods [#attention.causal, #attention.alibi<aux = 0>]
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
  return %o : tensor<?x2x?x64xbf16>
}
