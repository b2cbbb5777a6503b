// Decoding from a paged cache of 8 bits: numbers in units of scales, one for
// every sequence and key head (flash-attention's descales). Pages as in
// decode_paged.mlir.
!q = tensor<?x?x32x128xf8E4M3FN>
!cache = tensor<?x64x8x128xf8E4M3FN>
!s = tensor<?x8x1xf32>

func.func @fp8_decode_paged(
    %q: !q {tile.name = "q"}, %k: !cache {tile.name = "k"}, %v: !cache {tile.name = "v"},
    %q_scale: !s {tile.name = "q_scale"},
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
      scales(%q_scale, %k_scale, %v_scale : !s, !s, !s) splits %n layout bshd
      mods [#attention.used<k = 1>, #attention.paged<table = 0>, #attention.causal]
    : (!q, !cache, !cache) -> (tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>)
  return %o, %lse : tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>
}
