// Decoding from a paged cache: key j of sequence b is row j mod 64 of page
// page_table[b, j div 64]. Whatever the table holds, nothing outside of the
// cache is read: a number that is no page's is one of zeros.
func.func @decode_paged(
    %q: tensor<?x?x32x128xbf16> {tile.name = "q"},
    %k: tensor<?x64x8x128xbf16> {tile.name = "k"},
    %v: tensor<?x64x8x128xbf16> {tile.name = "v"},
    %page_table: tensor<?x?xi32> {tile.name = "page_table", tile.dims = ["b", "pages_of_sequence"]},
    %used_k: tensor<?xi32> {tile.name = "used_k"},
    %splits: i32 {tile.name = "splits"})
    -> (tensor<?x?x32x128xbf16> {tile.name = "o"},
        tensor<?x32x?xf32> {tile.name = "lse"}) {
  %n = arith.index_cast %splits : i32 to index
  %o, %lse = attention.forward %q, %k, %v
      aux(%page_table, %used_k : tensor<?x?xi32>, tensor<?xi32>)
      splits %n layout bshd
      mods [#attention.used<k = 1>, #attention.paged<table = 0>, #attention.causal]
    : (tensor<?x?x32x128xbf16>, tensor<?x64x8x128xbf16>, tensor<?x64x8x128xbf16>)
    -> (tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>)
  return %o, %lse : tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>
}
