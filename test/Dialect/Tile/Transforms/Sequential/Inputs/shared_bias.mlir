// A bias that all batches share.
!q = tensor<?x?x?x64xf16>
func.func @shared_bias(%q: !q, %k: !q, %v: !q, %bias: tensor<1x?x?x?xf16> {tile.name = "bias"}) -> !q {
  %o = attention.forward %q, %k, %v aux(%bias : tensor<1x?x?x?xf16>)
    mods [#attention.bias<aux = 0>, #attention.causal] : (!q, !q, !q) -> !q
  return %o : !q
}
