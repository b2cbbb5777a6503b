// A window of 64 keys to both sides, and 16 keys that see and are seen by all.
func.func @global_window(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                         %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                         %v: tensor<?x2x?x64xbf16> {tile.name = "v"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
    mask_mod (%b, %h, %i, %j) {
      %c16 = arith.constant 16 : index
      %c64 = arith.constant 64 : index
      %d = arith.subi %i, %j : index
      %e = arith.subi %j, %i : index
      %distance = arith.maxsi %d, %e : index
      %near = arith.cmpi sle, %distance, %c64 : index
      %queries = arith.cmpi slt, %i, %c16 : index
      %keys = arith.cmpi slt, %j, %c16 : index
      %global = arith.ori %queries, %keys : i1
      %keep = arith.ori %near, %global : i1
      attention.yield %keep : i1
    }
  return %o : tensor<?x2x?x64xbf16>
}
