// Decoding with multi-head latent attention in its absorbed form: all heads share one
// key, in pages of 64 keys. Scores are sums over its 512 latent columns, with qv, and
// its 64 rotary ones, with q; the latent ones are the value. The launch says strides,
// so both may be columns of one memory: v = cache[..., :512], k = cache[..., 512:].
func.func @mla_decode(
    %q: tensor<?x?x64x64xbf16> {tile.name = "q"},
    %qv: tensor<?x?x64x512xbf16> {tile.name = "qv"},
    %k: tensor<?x64x1x64xbf16> {tile.name = "k"},
    %v: tensor<?x64x1x512xbf16> {tile.name = "v"},
    %page_table: tensor<?x?xi32> {tile.name = "page_table", tile.dims = ["b", "pages_of_sequence"]},
    %used_k: tensor<?xi32> {tile.name = "used_k"},
    %splits: i32 {tile.name = "splits"})
    -> (tensor<?x?x64x512xbf16> {tile.name = "o"},
        tensor<?x64x?xf32> {tile.name = "lse"}) {
  %n = arith.index_cast %splits : i32 to index
  %o, %lse = attention.forward %q, %k, %v qv(%qv : tensor<?x?x64x512xbf16>)
      aux(%page_table, %used_k : tensor<?x?xi32>, tensor<?xi32>)
      scale 0.0721688 splits %n layout bshd
      mods [#attention.used<k = 1>, #attention.paged<table = 0>]
    : (tensor<?x?x64x64xbf16>, tensor<?x64x1x64xbf16>, tensor<?x64x1x512xbf16>)
    -> (tensor<?x?x64x512xbf16>, tensor<?x64x?xf32>)
  return %o, %lse : tensor<?x?x64x512xbf16>, tensor<?x64x?xf32>
}
