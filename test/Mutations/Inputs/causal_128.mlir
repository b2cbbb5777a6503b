func.func @causal_128(%q: tensor<?x?x?x128xf16> {tile.name = "q"}, %k: tensor<?x?x?x128xf16> {tile.name = "k"}, %v: tensor<?x?x?x128xf16> {tile.name = "v"})
    -> (tensor<?x?x?x128xf16> {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal]
    : (tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>) -> (tensor<?x?x?x128xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xf16>, tensor<?x?x?xf32>
}
