// Pixels of an image of 32 columns: keys at most 3 rows and 3 columns away.
func.func @neighborhood_2d(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                           %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                           %v: tensor<?x2x?x64xbf16> {tile.name = "v"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
    mask_mod (%b, %h, %i, %j) {
      %width = arith.constant 32 : index
      %reach = arith.constant 3 : index
      %qy = arith.floordivsi %i, %width : index
      %qx = arith.remsi %i, %width : index
      %ky = arith.floordivsi %j, %width : index
      %kx = arith.remsi %j, %width : index
      %dy = arith.subi %qy, %ky : index
      %dx = arith.subi %qx, %kx : index
      %ay = math.absi %dy : index
      %ax = math.absi %dx : index
      %distance = arith.maxsi %ay, %ax : index
      %keep = arith.cmpi sle, %distance, %reach : index
      attention.yield %keep : i1
    }
  return %o : tensor<?x2x?x64xbf16>
}
