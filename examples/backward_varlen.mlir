// Gradients of sequences of different lengths, one behind the other
// (varlen_causal_gqa.mlir): cu_q and cu_k say where each begins and the last one
// ends. The forward has kept o and lse; do is the gradient with respect to o.
// Rows of all sequences are rows of dq, dk and dv, too.
func.func @backward_varlen(
    %q: tensor<?x32x128xbf16> {tile.name = "q"},
    %k: tensor<?x8x128xbf16> {tile.name = "k"},
    %v: tensor<?x8x128xbf16> {tile.name = "v"},
    %o: tensor<?x32x128xbf16> {tile.name = "o"},
    %lse: tensor<32x?xf32> {tile.name = "lse"},
    %do: tensor<?x32x128xbf16> {tile.name = "do"},
    %cu_q: tensor<?xi32> {tile.name = "cu_q"},
    %cu_k: tensor<?xi32> {tile.name = "cu_k"})
    -> (tensor<?x32x128xbf16> {tile.name = "dq"},
        tensor<?x8x128xbf16> {tile.name = "dk"},
        tensor<?x8x128xbf16> {tile.name = "dv"}) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
      aux(%cu_q, %cu_k : tensor<?xi32>, tensor<?xi32>) layout bshd
      mods [#attention.packed<q = 0, k = 1>, #attention.causal]
    : (tensor<?x32x128xbf16>, tensor<?x8x128xbf16>, tensor<?x8x128xbf16>,
       tensor<?x32x128xbf16>, tensor<32x?xf32>, tensor<?x32x128xbf16>)
    -> (tensor<?x32x128xbf16>, tensor<?x8x128xbf16>, tensor<?x8x128xbf16>)
  return %dq, %dk, %dv
    : tensor<?x32x128xbf16>, tensor<?x8x128xbf16>, tensor<?x8x128xbf16>
}
