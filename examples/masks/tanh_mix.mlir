// A score that is mixed with its own tanh, by a share that every head has of its own.
func.func @tanh_mix(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                    %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                    %v: tensor<?x2x?x64xbf16> {tile.name = "v"},
                    %share: tensor<2xf32> {tile.name = "share"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    aux(%share : tensor<2xf32>)
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
    score_mod (%s, %b, %h, %i, %j) {
      %one = arith.constant 1.0 : f32
      %a = tensor.extract %share[%h] : tensor<2xf32>
      %rest = arith.subf %one, %a : f32
      %t = math.tanh %s : f32
      %x = arith.mulf %a, %t : f32
      %y = arith.mulf %rest, %s : f32
      %r = arith.addf %x, %y : f32
      attention.yield %r : f32
    }
  return %o : tensor<?x2x?x64xbf16>
}
