// Voxels of a volume of 8 x 8 columns and rows: keys at most 2 away in each direction.
func.func @neighborhood_3d(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                           %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                           %v: tensor<?x2x?x64xbf16> {tile.name = "v"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
    mask_mod (%b, %h, %i, %j) {
      %c8 = arith.constant 8 : index
      %c64 = arith.constant 64 : index
      %reach = arith.constant 2 : index
      %qz = arith.floordivsi %i, %c64 : index
      %kz = arith.floordivsi %j, %c64 : index
      %qp = arith.remsi %i, %c64 : index
      %kp = arith.remsi %j, %c64 : index
      %qy = arith.floordivsi %qp, %c8 : index
      %ky = arith.floordivsi %kp, %c8 : index
      %qx = arith.remsi %qp, %c8 : index
      %kx = arith.remsi %kp, %c8 : index
      %dz = arith.subi %qz, %kz : index
      %dy = arith.subi %qy, %ky : index
      %dx = arith.subi %qx, %kx : index
      %az = math.absi %dz : index
      %ay = math.absi %dy : index
      %ax = math.absi %dx : index
      %m = arith.maxsi %az, %ay : index
      %distance = arith.maxsi %m, %ax : index
      %keep = arith.cmpi sle, %distance, %reach : index
      attention.yield %keep : i1
    }
  return %o : tensor<?x2x?x64xbf16>
}
