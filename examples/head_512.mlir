// A global layer of a model with head dim 512 (Gemma 4): the output's columns are in
// two warp groups, which share the weights.
func.func @head_512(
    %q: tensor<?x8x?x512xbf16> {tile.name = "q"},
    %k: tensor<?x4x?x512xbf16> {tile.name = "k"},
    %v: tensor<?x4x?x512xbf16> {tile.name = "v"})
    -> (tensor<?x8x?x512xbf16> {tile.name = "o"},
        tensor<?x8x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal]
    : (tensor<?x8x?x512xbf16>, tensor<?x4x?x512xbf16>, tensor<?x4x?x512xbf16>)
    -> (tensor<?x8x?x512xbf16>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x512xbf16>, tensor<?x8x?xf32>
}
