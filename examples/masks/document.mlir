// Several documents one behind the other, causal within each.
func.func @document(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                    %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                    %v: tensor<?x2x?x64xbf16> {tile.name = "v"},
                    %documents: tensor<?x?xi32> {tile.name = "documents"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    aux(%documents : tensor<?x?xi32>)
    mods [#attention.causal, #attention.document<aux = 0>]
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
  return %o : tensor<?x2x?x64xbf16>
}
