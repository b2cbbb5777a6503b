// Graphormer: a bias for every head by the distance of two nodes in the graph, which a
// table in memory has; nodes at distance 0 to themselves, -1 without a path.
func.func @graphormer(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                      %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                      %v: tensor<?x2x?x64xbf16> {tile.name = "v"},
                      %distances: tensor<?x?x?xi32> {tile.name = "distances"},
                      %bias: tensor<2x20xf32> {tile.name = "bias"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    aux(%distances, %bias : tensor<?x?x?xi32>, tensor<2x20xf32>)
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
    score_mod (%s, %b, %h, %i, %j) {
      %d32 = tensor.extract %distances[%b, %i, %j] : tensor<?x?x?xi32>
      %d = arith.index_cast %d32 : i32 to index
      %x = tensor.extract %bias[%h, %d] : tensor<2x20xf32>
      %r = arith.addf %s, %x : f32
      attention.yield %r : f32
    }
  return %o : tensor<?x2x?x64xbf16>
}
