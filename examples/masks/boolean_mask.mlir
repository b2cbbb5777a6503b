// A mask in memory, one for all heads.
func.func @boolean_mask(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                        %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                        %v: tensor<?x2x?x64xbf16> {tile.name = "v"},
                        %mask: tensor<?x1x?x?xi1> {tile.name = "mask"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    aux(%mask : tensor<?x1x?x?xi1>)
    mods [#attention.mask<aux = 0>]
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
  return %o : tensor<?x2x?x64xbf16>
}
