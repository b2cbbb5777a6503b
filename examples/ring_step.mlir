// A step of ring attention: the keys of another device, with what the steps before
// have given. o stays f32 until the last step, so that it is rounded once; nothing
// is merged afterwards.
func.func @ring_step(
    %q: tensor<?x32x?x128xbf16> {tile.name = "q"},
    %k: tensor<?x8x?x128xbf16> {tile.name = "k"},
    %v: tensor<?x8x?x128xbf16> {tile.name = "v"},
    %previous_o: tensor<?x32x?x128xf32> {tile.name = "previous_o"},
    %previous_lse: tensor<?x32x?xf32> {tile.name = "previous_lse"})
    -> (tensor<?x32x?x128xf32> {tile.name = "o"}, tensor<?x32x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v
      previous(%previous_o, %previous_lse : tensor<?x32x?x128xf32>, tensor<?x32x?xf32>)
    : (tensor<?x32x?x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>)
    -> (tensor<?x32x?x128xf32>, tensor<?x32x?xf32>)
  return %o, %lse : tensor<?x32x?x128xf32>, tensor<?x32x?xf32>
}
