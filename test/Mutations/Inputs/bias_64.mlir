func.func @bias_64(%q: tensor<1x1x128x64xf16> {tile.name = "q"}, %k: tensor<1x1x320x64xf16> {tile.name = "k"}, %v: tensor<1x1x320x64xf16> {tile.name = "v"}, %bias: tensor<1x1x128x320xf16> {tile.name = "bias"})
    -> (tensor<1x1x128x64xf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%bias : tensor<1x1x128x320xf16>) mods [#attention.bias<aux = 0>]
    : (tensor<1x1x128x64xf16>, tensor<1x1x320x64xf16>, tensor<1x1x320x64xf16>) -> tensor<1x1x128x64xf16>
  return %o : tensor<1x1x128x64xf16>
}
