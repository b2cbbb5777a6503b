// An image of 32 columns in tiles of 8 x 8 pixels: keys of the same tile and of its neighbors.
func.func @tiled_neighborhood(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                              %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                              %v: tensor<?x2x?x64xbf16> {tile.name = "v"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
    mask_mod (%b, %h, %i, %j) {
      %c8 = arith.constant 8 : index
      %c32 = arith.constant 32 : index
      %c1 = arith.constant 1 : index
      %iy = arith.floordivsi %i, %c32 : index
      %ix = arith.remsi %i, %c32 : index
      %jy = arith.floordivsi %j, %c32 : index
      %jx = arith.remsi %j, %c32 : index
      %ity = arith.floordivsi %iy, %c8 : index
      %itx = arith.floordivsi %ix, %c8 : index
      %jty = arith.floordivsi %jy, %c8 : index
      %jtx = arith.floordivsi %jx, %c8 : index
      %dy = arith.subi %ity, %jty : index
      %dx = arith.subi %itx, %jtx : index
      %ay = math.absi %dy : index
      %ax = math.absi %dx : index
      %distance = arith.maxsi %ay, %ax : index
      %keep = arith.cmpi sle, %distance, %c1 : index
      attention.yield %keep : i1
    }
  return %o : tensor<?x2x?x64xbf16>
}
