func.func @packed_64(%q: tensor<?x6x?x64xbf16> {tile.name = "q"}, %k: tensor<?x2x?x64xbf16> {tile.name = "k"}, %v: tensor<?x2x?x64xbf16> {tile.name = "v"})
    -> (tensor<?x6x?x64xbf16> {tile.name = "o"}, tensor<?x6x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal]
    : (tensor<?x6x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> (tensor<?x6x?x64xbf16>, tensor<?x6x?xf32>)
  return %o, %lse : tensor<?x6x?x64xbf16>, tensor<?x6x?xf32>
}
