// Block diffusion: a query sees the keys of its block of 32 and of all blocks before.
func.func @block_diffusion(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                           %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                           %v: tensor<?x2x?x64xbf16> {tile.name = "v"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
    mask_mod (%b, %h, %i, %j) {
      %c32 = arith.constant 32 : index
      %qb = arith.floordivsi %i, %c32 : index
      %kb = arith.floordivsi %j, %c32 : index
      %keep = arith.cmpi sle, %kb, %qb : index
      attention.yield %keep : i1
    }
  return %o : tensor<?x2x?x64xbf16>
}
