func.func @keys_values_64(%q: tensor<?x?x?x64xf16> {tile.name = "q"}, %k: tensor<?x?x?x64xf16> {tile.name = "k"})
    -> (tensor<?x?x?x64xf16> {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %k
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}
