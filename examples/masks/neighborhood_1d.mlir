// Keys at most 16 away.
func.func @neighborhood_1d(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                           %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                           %v: tensor<?x2x?x64xbf16> {tile.name = "v"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    mods [#attention.window<left = 16, right = 16>]
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
  return %o : tensor<?x2x?x64xbf16>
}
