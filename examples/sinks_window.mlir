// A layer of gpt-oss: 64 heads of 64 elements, 8 key heads, a window of 128 keys
// and an attention sink, a learned score for every head that has no value.
func.func @sinks_window(
    %q: tensor<?x64x?x64xbf16> {tile.name = "q"},
    %k: tensor<?x8x?x64xbf16> {tile.name = "k"},
    %v: tensor<?x8x?x64xbf16> {tile.name = "v"},
    %sinks: tensor<64xf32> {tile.name = "sinks"})
    -> (tensor<?x64x?x64xbf16> {tile.name = "o"},
        tensor<?x64x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v sinks(%sinks : tensor<64xf32>)
      mods [#attention.window<left = 127, right = 0>]
    : (tensor<?x64x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>)
    -> (tensor<?x64x?x64xbf16>, tensor<?x64x?xf32>)
  return %o, %lse : tensor<?x64x?x64xbf16>, tensor<?x64x?xf32>
}
