// Sandwich: causal, with a bias by distance from a table in memory; distances that it
// does not have add nothing.
func.func @sandwich(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                    %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                    %v: tensor<?x2x?x64xbf16> {tile.name = "v"},
                    %table: tensor<2x?xbf16> {tile.name = "table"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    aux(%table : tensor<2x?xbf16>)
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
    score_mod (%s, %b, %h, %i, %j) {
      %d = arith.subi %i, %j : index
      %bias16 = tensor.extract %table[%h, %d] : tensor<2x?xbf16>
      %bias = arith.extf %bias16 : bf16 to f32
      %r = arith.addf %s, %bias : f32
      attention.yield %r : f32
    }
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.cmpi sle, %j, %i : index
      attention.yield %keep : i1
    }
  return %o : tensor<?x2x?x64xbf16>
}
