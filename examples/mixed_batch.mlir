// One step of an engine: some sequences bring a whole prompt, others their next
// token. Queries lie one behind the other (cu_q has starts), keys in pages of 64
// rows, of which sequence b has the first used_k[b] of table page_table[b]; the
// last query sees all keys. All lengths are run-time values of the device.
//
// With order=list kernels in front of this one list its tiles by the steps that
// they take, so that long ones start first, wherever in the batch they are:
//   fa3-translate --mlir-to-ptx mixed_batch.mlir -o mixed_batch.ptx
//     --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline{order=list})'
func.func @mixed_batch(
    %q: tensor<?x32x128xbf16> {tile.name = "q"},
    %k: tensor<?x64x8x128xbf16> {tile.name = "k"},
    %v: tensor<?x64x8x128xbf16> {tile.name = "v"},
    %cu_q: tensor<?xi32> {tile.name = "cu_q"},
    %used_k: tensor<?xi32> {tile.name = "used_k"},
    %table: tensor<?x?xi32> {tile.name = "page_table", tile.dims = ["b", "pages_of_sequence"]},
    %max_q: i32 {tile.name = "max_q"})
    -> (tensor<?x32x128xbf16> {tile.name = "o"},
        tensor<32x?xf32> {tile.name = "lse"}) {
  %most = arith.index_cast %max_q : i32 to index
  %sequences = attention.sequences max_q %most
  %o, %lse = attention.forward %q, %k, %v
      aux(%cu_q, %used_k, %table : tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>)
      sequences %sequences layout bshd
      mods [#attention.packed<q = 0>, #attention.used<k = 1>, #attention.paged<table = 2>,
            #attention.causal]
    : (tensor<?x32x128xbf16>, tensor<?x64x8x128xbf16>, tensor<?x64x8x128xbf16>)
    -> (tensor<?x32x128xbf16>, tensor<32x?xf32>)
  return %o, %lse : tensor<?x32x128xbf16>, tensor<32x?xf32>
}
