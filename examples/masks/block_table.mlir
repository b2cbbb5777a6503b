// A mask of blocks of 32 queries and 16 keys that is a table in memory.
func.func @block_table(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                       %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                       %v: tensor<?x2x?x64xbf16> {tile.name = "v"},
                       %blocks: tensor<?x?xi1> {tile.name = "blocks"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    aux(%blocks : tensor<?x?xi1>)
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
    mask_mod (%b, %h, %i, %j) {
      %c32 = arith.constant 32 : index
      %c16 = arith.constant 16 : index
      %m = arith.divui %i, %c32 : index
      %n = arith.divui %j, %c16 : index
      %keep = tensor.extract %blocks[%m, %n] : tensor<?x?xi1>
      attention.yield %keep : i1
    }
  return %o : tensor<?x2x?x64xbf16>
}
