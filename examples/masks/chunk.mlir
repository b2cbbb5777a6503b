// Llama 4: causal within chunks of 96 keys.
func.func @chunk(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                 %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                 %v: tensor<?x2x?x64xbf16> {tile.name = "v"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    mods [#attention.causal, #attention.chunk<96>]
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
  return %o : tensor<?x2x?x64xbf16>
}
