// Every third key of a causal window of 192.
func.func @dilated(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                   %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                   %v: tensor<?x2x?x64xbf16> {tile.name = "v"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    mods [#attention.window<left = 191, right = 0>, #attention.dilation<3>]
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
  return %o : tensor<?x2x?x64xbf16>
}
