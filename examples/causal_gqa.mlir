// Attention layer of Llama-3 8B: 32 query heads share 8 key heads, head dim 128,
// bf16, causal. Batch and lengths are run-time values; the scale is 1/sqrt(128).

func.func @causal_gqa(
    %q: tensor<?x32x?x128xbf16> {tile.name = "q"},
    %k: tensor<?x8x?x128xbf16> {tile.name = "k"},
    %v: tensor<?x8x?x128xbf16> {tile.name = "v"})
    -> (tensor<?x32x?x128xbf16> {tile.name = "o"},
        tensor<?x32x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v mods [#attention.causal]
    : (tensor<?x32x?x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>)
    -> (tensor<?x32x?x128xbf16>, tensor<?x32x?xf32>)
  return %o, %lse : tensor<?x32x?x128xbf16>, tensor<?x32x?xf32>
}
