// Keys and values of 4 bits: both go through the role that unpacks them.
func.func @f(%q: tensor<?x?x?x64xbf16> {tile.name = "q"},
             %k: tensor<?x?x?x32xi8> {tile.name = "k"},
             %v: tensor<?x?x?x32xi8> {tile.name = "v"},
             %ks: tensor<?x?x?xf32> {tile.name = "k_scale"},
             %vs: tensor<?x?x?xf32> {tile.name = "v_scale"})
    -> tensor<?x?x?x64xbf16> {
  %o = attention.forward %q, %k, %v nibbles(%ks, %vs : tensor<?x?x?xf32>, tensor<?x?x?xf32>)
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x32xi8>, tensor<?x?x?x32xi8>) -> tensor<?x?x?x64xbf16>
  return %o : tensor<?x?x?x64xbf16>
}
