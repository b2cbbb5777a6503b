// Dropout: a weight in ten is dropped, and the others are multiplied by 1 / 0.9.
// The random numbers are those of FlashAttention-2 for a seed and an offset,
// which lie in memory: a recorded launch can be repeated with others.
func.func @dropout(
    %q: tensor<?x8x?x128xbf16> {tile.name = "q"},
    %k: tensor<?x8x?x128xbf16> {tile.name = "k"},
    %v: tensor<?x8x?x128xbf16> {tile.name = "v"},
    %rng_state: tensor<2xi64> {tile.name = "rng_state"})
    -> (tensor<?x8x?x128xbf16> {tile.name = "o"},
        tensor<?x8x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%rng_state : tensor<2xi64>)
    mods [#attention.causal, #attention.dropout<p = 0.1, aux = 0>]
    : (tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>)
    -> (tensor<?x8x?x128xbf16>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x128xbf16>, tensor<?x8x?xf32>
}
