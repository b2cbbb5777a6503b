// A prefix that all sequences share (cascade): its keys are attended to once,
// with the queries of all sequences as rows, and what every sequence has behind
// it apart. Both launches write into one array of parts, and this one merges
// them. Devices that hold parts of the keys (rings) end the same way.
func.func @merge_prefix(
    %parts: tensor<?x?x?x32x128xbf16> {tile.name = "o_parts"},
    %lse_parts: tensor<?x?x32x?xf32> {tile.name = "lse_parts"})
    -> (tensor<?x?x32x128xbf16> {tile.name = "o"},
        tensor<?x32x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.merge %parts, %lse_parts layout bshd
    : tensor<?x?x?x32x128xbf16>, tensor<?x?x32x?xf32>
    -> tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>
  return %o, %lse : tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>
}
