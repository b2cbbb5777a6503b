// Gradients of attention with a learned bias that all sequences of a batch
// share, as of relative positions (T5, Swin): that of the bias is their sum,
// computed in the same order in every run. The forward is alibi_bias.mlir
// without slopes.

func.func @backward_bias(
    %q: tensor<?x8x?x64xbf16> {tile.name = "q"},
    %k: tensor<?x8x?x64xbf16> {tile.name = "k"},
    %v: tensor<?x8x?x64xbf16> {tile.name = "v"},
    %o: tensor<?x8x?x64xbf16> {tile.name = "o"},
    %lse: tensor<?x8x?xf32> {tile.name = "lse"},
    %do: tensor<?x8x?x64xbf16> {tile.name = "do"},
    %bias: tensor<1x8x?x?xbf16> {tile.name = "bias"})
    -> (tensor<?x8x?x64xbf16> {tile.name = "dq"},
        tensor<?x8x?x64xbf16> {tile.name = "dk"},
        tensor<?x8x?x64xbf16> {tile.name = "dv"},
        tensor<1x8x?x?xbf16> {tile.name = "dbias"}) {
  %dq, %dk, %dv, %dbias = attention.backward %q, %k, %v, %o, %lse, %do
    aux(%bias : tensor<1x8x?x?xbf16>) grad_aux [0] mods [#attention.bias<aux = 0>]
    : (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>,
       tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>, tensor<?x8x?x64xbf16>)
    -> (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>,
        tensor<1x8x?x?xbf16>)
  return %dq, %dk, %dv, %dbias
    : tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>,
      tensor<1x8x?x?xbf16>
}
