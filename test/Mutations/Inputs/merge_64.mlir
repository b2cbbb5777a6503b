func.func @merge_64(%parts: tensor<?x?x?x?x64xf32> {tile.name = "o_parts"}, %lses: tensor<?x?x?x?xf32> {tile.name = "lse_parts"})
    -> (tensor<?x?x?x64xbf16> {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.merge %parts, %lses
    : tensor<?x?x?x?x64xf32>, tensor<?x?x?x?xf32> -> tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
