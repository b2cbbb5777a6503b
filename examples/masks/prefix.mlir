// The first 64 keys are visible to all, the others causally.
func.func @prefix(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                  %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                  %v: tensor<?x2x?x64xbf16> {tile.name = "v"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    mods [#attention.prefix<64>]
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
  return %o : tensor<?x2x?x64xbf16>
}
