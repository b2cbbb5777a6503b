// Decoding from a paged cache of 4 bits with queries of 16: two integers in a
// byte of k and v, and a scale for every row of each key head, (page, key head,
// row). Columns 0 to 63 are in bits 0 to 3 of the bytes, columns 64 to 127 in
// bits 4 to 7. Pages as in decode_paged.mlir.
!q = tensor<?x?x32x128xbf16>
!cache = tensor<?x64x8x64xi8>
!s = tensor<?x8x64xf32>

func.func @int4_decode_paged(
    %q: !q {tile.name = "q"}, %k: !cache {tile.name = "k"}, %v: !cache {tile.name = "v"},
    %k_scale: !s {tile.name = "k_scale"},
    %v_scale: !s {tile.name = "v_scale"},
    %page_table: tensor<?x?xi32> {tile.name = "page_table", tile.dims = ["b", "pages_of_sequence"]},
    %used_k: tensor<?xi32> {tile.name = "used_k"},
    %splits: i32 {tile.name = "splits"})
    -> (tensor<?x?x32x128xbf16> {tile.name = "o"},
        tensor<?x32x?xf32> {tile.name = "lse"}) {
  %n = arith.index_cast %splits : i32 to index
  %o, %lse = attention.forward %q, %k, %v
      aux(%page_table, %used_k : tensor<?x?xi32>, tensor<?xi32>)
      nibbles(%k_scale, %v_scale : !s, !s) splits %n layout bshd
      mods [#attention.used<k = 1>, #attention.paged<table = 0>, #attention.causal]
    : (!q, !cache, !cache) -> (tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>)
  return %o, %lse : tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>
}
