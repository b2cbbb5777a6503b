!Q = tensor<1x3x400x64xf16>
!K = tensor<1x3x150x64xf16>
func.func @heights_64(%q: !Q {tile.name = "q"}, %k: !K {tile.name = "k"}, %v: !K {tile.name = "v"}) -> (!Q {tile.name = "o"}, tensor<1x3x400xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v : (!Q, !K, !K) -> (!Q, tensor<1x3x400xf32>)
  return %o, %lse : !Q, tensor<1x3x400xf32>
}
