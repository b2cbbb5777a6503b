// A penalty by the logarithm of the distance.
func.func @log_distance(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                        %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                        %v: tensor<?x2x?x64xbf16> {tile.name = "v"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    mods [#attention.causal]
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
    score_mod (%s, %b, %h, %i, %j) {
      %d = arith.subi %i, %j : index
      %a = math.absi %d : index
      %n = arith.index_cast %a : index to i32
      %x = arith.sitofp %n : i32 to f32
      %l = math.log1p %x : f32
      %r = arith.subf %s, %l : f32
      attention.yield %r : f32
    }
  return %o : tensor<?x2x?x64xbf16>
}
