// A window of 128 keys behind the query.
func.func @window(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                  %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                  %v: tensor<?x2x?x64xbf16> {tile.name = "v"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    mods [#attention.window<left = 127, right = 0>]
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
  return %o : tensor<?x2x?x64xbf16>
}
