// Pixels in Morton order, 16 x 16 of them: keys at most 2 rows and columns away.
func.func @morton(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                  %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                  %v: tensor<?x2x?x64xbf16> {tile.name = "v"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
    mask_mod (%b, %h, %i, %j) {
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
      %is1 = arith.shrui %i, %c1 : index
      %is2 = arith.shrui %i, %c2 : index
      %is3 = arith.shrui %i, %c3 : index
      %is4 = arith.shrui %i, %c4 : index
      %ix0 = arith.andi %i, %c1 : index
      %ix1 = arith.andi %is1, %c2 : index
      %ix2 = arith.andi %is2, %c4 : index
      %ix3 = arith.andi %is3, %c8 : index
      %iy0 = arith.andi %is1, %c1 : index
      %iy1 = arith.andi %is2, %c2 : index
      %iy2 = arith.andi %is3, %c4 : index
      %iy3 = arith.andi %is4, %c8 : index
      %iax = arith.ori %ix0, %ix1 : index
      %ibx = arith.ori %ix2, %ix3 : index
      %ix = arith.ori %iax, %ibx : index
      %iay = arith.ori %iy0, %iy1 : index
      %iby = arith.ori %iy2, %iy3 : index
      %iy = arith.ori %iay, %iby : index
      %js1 = arith.shrui %j, %c1 : index
      %js2 = arith.shrui %j, %c2 : index
      %js3 = arith.shrui %j, %c3 : index
      %js4 = arith.shrui %j, %c4 : index
      %jx0 = arith.andi %j, %c1 : index
      %jx1 = arith.andi %js1, %c2 : index
      %jx2 = arith.andi %js2, %c4 : index
      %jx3 = arith.andi %js3, %c8 : index
      %jy0 = arith.andi %js1, %c1 : index
      %jy1 = arith.andi %js2, %c2 : index
      %jy2 = arith.andi %js3, %c4 : index
      %jy3 = arith.andi %js4, %c8 : index
      %jax = arith.ori %jx0, %jx1 : index
      %jbx = arith.ori %jx2, %jx3 : index
      %jx = arith.ori %jax, %jbx : index
      %jay = arith.ori %jy0, %jy1 : index
      %jby = arith.ori %jy2, %jy3 : index
      %jy = arith.ori %jay, %jby : index
      %dx = arith.subi %ix, %jx : index
      %dy = arith.subi %iy, %jy : index
      %ax = math.absi %dx : index
      %ay = math.absi %dy : index
      %distance = arith.maxsi %ax, %ay : index
      %keep = arith.cmpi sle, %distance, %c2 : index
      attention.yield %keep : i1
    }
  return %o : tensor<?x2x?x64xbf16>
}
