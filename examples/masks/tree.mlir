// Speculative decoding: a token sees the tokens that lead to it in a tree, by a table
// of ancestors.
func.func @tree(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                %v: tensor<?x2x?x64xbf16> {tile.name = "v"},
                %ancestors: tensor<?x?xi1> {tile.name = "ancestors"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    aux(%ancestors : tensor<?x?xi1>)
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
    mask_mod (%b, %h, %i, %j) {
      %keep = tensor.extract %ancestors[%i, %j] : tensor<?x?xi1>
      attention.yield %keep : i1
    }
  return %o : tensor<?x2x?x64xbf16>
}
