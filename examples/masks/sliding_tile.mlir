// Sequences in tiles of 64: keys of the tiles up to two before and behind.
func.func @sliding_tile(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                        %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                        %v: tensor<?x2x?x64xbf16> {tile.name = "v"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
    mask_mod (%b, %h, %i, %j) {
      %c2 = arith.constant 2 : index
      %c64 = arith.constant 64 : index
      %it = arith.floordivsi %i, %c64 : index
      %jt = arith.floordivsi %j, %c64 : index
      %d = arith.subi %it, %jt : index
      %distance = math.absi %d : index
      %keep = arith.cmpi sle, %distance, %c2 : index
      attention.yield %keep : i1
    }
  return %o : tensor<?x2x?x64xbf16>
}
