// What test/Inputs/dropout.py runs.
!rng = tensor<2xi64>
func.func @dropped(%q: tensor<?x?x?x16xf16> {tile.name = "q", tile.dims = ["b", "h", "sq", "d"]},
                   %k: tensor<?x?x?x16xf16> {tile.name = "k", tile.dims = ["b", "hk", "sk", "d"]},
                   %v: tensor<?x?x?x104xf16> {tile.name = "v", tile.dims = ["b", "hk", "sk", "e"]},
                   %rng: !rng {tile.name = "rng"}) -> (tensor<?x?x?x104xf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%rng : !rng) mods [#attention.dropout<p = 0.25, aux = 0>]
    : (tensor<?x?x?x16xf16>, tensor<?x?x?x16xf16>, tensor<?x?x?x104xf16>) -> tensor<?x?x?x104xf16>
  return %o : tensor<?x?x?x104xf16>
}
