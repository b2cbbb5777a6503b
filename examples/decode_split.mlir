// Few queries against a long cache (Flash-Decoding): keys are summed up in
// `splits` parts by as many CTAs, and a second kernel merges their results. The
// heads that share a key head are rows of one tile. used_k says how many keys of
// the cache a sequence has.
func.func @decode_split(
    %q: tensor<?x32x?x128xbf16> {tile.name = "q"},
    %k: tensor<?x8x?x128xbf16> {tile.name = "k"},
    %v: tensor<?x8x?x128xbf16> {tile.name = "v"},
    %used_k: tensor<?xi32> {tile.name = "used_k"},
    %splits: i32 {tile.name = "splits"})
    -> (tensor<?x32x?x128xbf16> {tile.name = "o"},
        tensor<?x32x?xf32> {tile.name = "lse"}) {
  %n = arith.index_cast %splits : i32 to index
  %o, %lse = attention.forward %q, %k, %v aux(%used_k : tensor<?xi32>)
      splits %n mods [#attention.used<k = 0>, #attention.causal]
    : (tensor<?x32x?x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>)
    -> (tensor<?x32x?x128xbf16>, tensor<?x32x?xf32>)
  return %o, %lse : tensor<?x32x?x128xbf16>, tensor<?x32x?xf32>
}
