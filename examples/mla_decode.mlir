// Decoding with multi-head latent attention in its absorbed form: all heads share one
// key of 512 latent and 64 rotary columns, in pages of 64 keys, and the latent ones are
// the value. The launch says strides, so v may be columns of the same memory as k:
// v = cache[..., :512].
func.func @mla_decode(
    %q: tensor<?x?x64x576xbf16> {tile.name = "q"},
    %k: tensor<?x64x1x576xbf16> {tile.name = "k"},
    %v: tensor<?x64x1x512xbf16> {tile.name = "v"},
    %page_table: tensor<?x?xi32> {tile.name = "page_table", tile.dims = ["b", "pages_of_sequence"]},
    %used_k: tensor<?xi32> {tile.name = "used_k"},
    %splits: i32 {tile.name = "splits"})
    -> (tensor<?x?x64x512xbf16> {tile.name = "o"},
        tensor<?x64x?xf32> {tile.name = "lse"}) {
  %n = arith.index_cast %splits : i32 to index
  %o, %lse = attention.forward %q, %k, %v
      aux(%page_table, %used_k : tensor<?x?xi32>, tensor<?xi32>)
      scale 0.0721688 splits %n layout bshd
      mods [#attention.used<k = 1>, #attention.paged<table = 0>]
    : (tensor<?x?x64x576xbf16>, tensor<?x64x1x576xbf16>, tensor<?x64x1x512xbf16>)
    -> (tensor<?x?x64x512xbf16>, tensor<?x64x?xf32>)
  return %o, %lse : tensor<?x?x64x512xbf16>, tensor<?x64x?xf32>
}
