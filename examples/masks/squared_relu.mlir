// Scores through ReLU squared before softmax.
func.func @squared_relu(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                        %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                        %v: tensor<?x2x?x64xbf16> {tile.name = "v"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    mods [#attention.causal]
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
    score_mod (%s, %b, %h, %i, %j) {
      %zero = arith.constant 0.0 : f32
      %p = arith.maximumf %s, %zero : f32
      %r = arith.mulf %p, %p : f32
      attention.yield %r : f32
    }
  return %o : tensor<?x2x?x64xbf16>
}
