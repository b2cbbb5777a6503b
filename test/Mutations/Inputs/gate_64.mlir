func.func @gate_64(%q: tensor<?x?x?x64xbf16> {tile.name = "q"}, %k: tensor<?x?x?x64xbf16> {tile.name = "k"}, %v: tensor<?x?x?x64xbf16> {tile.name = "v"},
                   %gate: tensor<?x?x?x64xbf16> {tile.name = "gate"})
    -> (tensor<?x?x?x64xbf16> {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}, tensor<?x?x?x64xbf16> {tile.name = "o_plain"}) {
  %o, %lse, %plain = attention.forward %q, %k, %v aux(%gate : tensor<?x?x?x64xbf16>) plain
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x64xbf16>)
    epilogue (%x, %b, %h, %i, %c) {
      %g = tensor.extract %gate[%b, %h, %i, %c] : tensor<?x?x?x64xbf16>
      %wide = arith.extf %g : bf16 to f32
      %y = arith.mulf %x, %wide : f32
      attention.yield %y : f32
    }
  return %o, %lse, %plain : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x64xbf16>
}
