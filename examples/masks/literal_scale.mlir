// A scale that is a number of the code.
func.func @literal_scale(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                         %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                         %v: tensor<?x2x?x64xbf16> {tile.name = "v"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v scale 0.125
    mods [#attention.causal]
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
  return %o : tensor<?x2x?x64xbf16>
}
