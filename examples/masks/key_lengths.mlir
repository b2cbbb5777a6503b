// Sequences of different lengths, filled up to one.
func.func @key_lengths(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                       %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                       %v: tensor<?x2x?x64xbf16> {tile.name = "v"},
                       %lengths: tensor<?xi32> {tile.name = "lengths"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    aux(%lengths : tensor<?xi32>)
    mods [#attention.key_lengths<aux = 0>]
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
  return %o : tensor<?x2x?x64xbf16>
}
