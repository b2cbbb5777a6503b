// A decoding step on a paged cache: new keys and values go behind the first
// `first` keys of every sequence, keys and queries turned by their positions,
// and then the queries see all keys up to their own. The host function launches
// the update of the cache and then attention; k and v are written in place.
func.func @append_rotary(
    %q: tensor<?x?x32x128xbf16> {tile.name = "q"},
    %k_new: tensor<?x?x8x128xbf16> {tile.name = "k_new"},
    %v_new: tensor<?x?x8x128xbf16> {tile.name = "v_new"},
    %k: tensor<?x64x8x128xbf16> {tile.name = "k"},
    %v: tensor<?x64x8x128xbf16> {tile.name = "v"},
    %cos: tensor<?x64xf32> {tile.name = "cos"},
    %sin: tensor<?x64xf32> {tile.name = "sin"},
    %first: tensor<?xi32> {tile.name = "first"},
    %page_table: tensor<?x?xi32> {tile.name = "page_table", tile.dims = ["b", "pages_of_sequence"]})
    -> (tensor<?x?x32x128xbf16> {tile.name = "o"},
        tensor<?x32x?xf32> {tile.name = "lse"}) {
  %turned_q = attention.rotary %q, %cos, %sin at %first layout bshd
    : tensor<?x?x32x128xbf16>, tensor<?x64xf32>, tensor<?xi32>
  %turned_k = attention.rotary %k_new, %cos, %sin at %first layout bshd
    : tensor<?x?x8x128xbf16>, tensor<?x64xf32>, tensor<?xi32>
  %k1 = attention.append %turned_k, %k at %first aux(%page_table : tensor<?x?xi32>) layout bshd
      mods [#attention.paged<table = 0>]
    : tensor<?x?x8x128xbf16>, tensor<?x64x8x128xbf16>, tensor<?xi32>
  %v1 = attention.append %v_new, %v at %first aux(%page_table : tensor<?x?xi32>) layout bshd
      mods [#attention.paged<table = 0>]
    : tensor<?x?x8x128xbf16>, tensor<?x64x8x128xbf16>, tensor<?xi32>
  %sequences = attention.sequences
    lengths (%b) {
      // The new keys count; there are as many as queries.
      %before = tensor.extract %first[%b] : tensor<?xi32>
      %old = arith.index_cast %before : i32 to index
      %new = attention.length query
      %keys = arith.addi %old, %new : index
      attention.yield %new, %keys : index, index
    }
  %o, %lse = attention.forward %turned_q, %k1, %v1
      aux(%page_table, %first : tensor<?x?xi32>, tensor<?xi32>) sequences %sequences layout bshd
      mods [#attention.paged<table = 0>, #attention.causal]
    : (tensor<?x?x32x128xbf16>, tensor<?x64x8x128xbf16>, tensor<?x64x8x128xbf16>)
    -> (tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>)
  return %o, %lse : tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>
}
