// T5: a bias for every head by distance, of which those beyond 127 share the last.
func.func @t5_table(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                    %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                    %v: tensor<?x2x?x64xbf16> {tile.name = "v"},
                    %table: tensor<2x255xf32> {tile.name = "table"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    aux(%table : tensor<2x255xf32>)
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
    score_mod (%s, %b, %h, %i, %j) {
      %c0 = arith.constant 0 : index
      %c127 = arith.constant 127 : index
      %c254 = arith.constant 254 : index
      %d = arith.subi %j, %i : index
      %shifted = arith.addi %d, %c127 : index
      %low = arith.maxsi %shifted, %c0 : index
      %at = arith.minsi %low, %c254 : index
      %bias = tensor.extract %table[%h, %at] : tensor<2x255xf32>
      %r = arith.addf %s, %bias : f32
      attention.yield %r : f32
    }
  return %o : tensor<?x2x?x64xbf16>
}
