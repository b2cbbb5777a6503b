// Without lse queries are scaled in place (tile-scale-operands).
func.func @softcap_64(%q: tensor<?x?x?x64xf16> {tile.name = "q"}, %k: tensor<?x?x?x64xf16> {tile.name = "k"}, %v: tensor<?x?x?x64xf16> {tile.name = "v"})
    -> (tensor<?x?x?x64xf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v mods [#attention.softcap<30.0>]
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> (tensor<?x?x?x64xf16>)
  return %o : tensor<?x?x?x64xf16>
}
