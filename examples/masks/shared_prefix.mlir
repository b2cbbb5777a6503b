// Samples of 40 tokens behind a prefix of 64 that all of them share, causal in each.
func.func @shared_prefix(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                         %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                         %v: tensor<?x2x?x64xbf16> {tile.name = "v"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    mods [#attention.causal<align = top_left>]
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
    mask_mod (%b, %h, %i, %j) {
      %c40 = arith.constant 40 : index
      %c64 = arith.constant 64 : index
      %i0 = arith.subi %i, %c64 : index
      %j0 = arith.subi %j, %c64 : index
      %is = arith.floordivsi %i0, %c40 : index
      %js = arith.floordivsi %j0, %c40 : index
      %same = arith.cmpi eq, %is, %js : index
      %prefix = arith.cmpi slt, %j, %c64 : index
      %keep = arith.ori %same, %prefix : i1
      attention.yield %keep : i1
    }
  return %o : tensor<?x2x?x64xbf16>
}
