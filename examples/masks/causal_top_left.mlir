// Causal where the first query stands at the first key, whatever the lengths.
func.func @causal_top_left(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                           %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                           %v: tensor<?x2x?x64xbf16> {tile.name = "v"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    mods [#attention.causal<align = top_left>]
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
  return %o : tensor<?x2x?x64xbf16>
}
