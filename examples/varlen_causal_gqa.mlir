// Sequences of different lengths, one behind the other: the rows of all of them
// are one dimension of q, k and v, and cu_q and cu_k say where each begins and
// the last one ends (cu_seqlens). The lengths are run-time values, of which only
// the kernel knows; max_q is at least the longest number of queries.
func.func @varlen_causal_gqa(
    %q: tensor<?x32x128xbf16> {tile.name = "q"},
    %k: tensor<?x8x128xbf16> {tile.name = "k"},
    %v: tensor<?x8x128xbf16> {tile.name = "v"},
    %cu_q: tensor<?xi32> {tile.name = "cu_q"},
    %cu_k: tensor<?xi32> {tile.name = "cu_k"},
    %max_q: i32 {tile.name = "max_q"})
    -> (tensor<?x32x128xbf16> {tile.name = "o"},
        tensor<32x?xf32> {tile.name = "lse"}) {
  %most = arith.index_cast %max_q : i32 to index
  %sequences = attention.sequences max_q %most
  %o, %lse = attention.forward %q, %k, %v aux(%cu_q, %cu_k : tensor<?xi32>, tensor<?xi32>)
      sequences %sequences layout bshd
      mods [#attention.packed<q = 0, k = 1>, #attention.causal]
    : (tensor<?x32x128xbf16>, tensor<?x8x128xbf16>, tensor<?x8x128xbf16>)
    -> (tensor<?x32x128xbf16>, tensor<32x?xf32>)
  return %o, %lse : tensor<?x32x128xbf16>, tensor<32x?xf32>
}
