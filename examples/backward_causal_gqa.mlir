// Gradients of the attention of a Llama-3 8B layer (causal_gqa.mlir): 32 query
// and 8 key heads of 128 elements, causal. The forward has kept o and lse; do is
// the gradient with respect to o.

func.func @backward_causal_gqa(
    %q: tensor<?x32x?x128xbf16> {tile.name = "q"},
    %k: tensor<?x8x?x128xbf16> {tile.name = "k"},
    %v: tensor<?x8x?x128xbf16> {tile.name = "v"},
    %o: tensor<?x32x?x128xbf16> {tile.name = "o"},
    %lse: tensor<?x32x?xf32> {tile.name = "lse"},
    %do: tensor<?x32x?x128xbf16> {tile.name = "do"})
    -> (tensor<?x32x?x128xbf16> {tile.name = "dq"},
        tensor<?x8x?x128xbf16> {tile.name = "dk"},
        tensor<?x8x?x128xbf16> {tile.name = "dv"}) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do mods [#attention.causal]
    : (tensor<?x32x?x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>,
       tensor<?x32x?x128xbf16>, tensor<?x32x?xf32>, tensor<?x32x?x128xbf16>)
    -> (tensor<?x32x?x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>)
  return %dq, %dk, %dv
    : tensor<?x32x?x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>
}
