// An output gate, as in Qwen3-Next: o is multiplied by sigmoid(gate), element by
// element, before it goes to memory. Training takes the gradient of the gate, too:
// fa3-opt gate.mlir --attention-differentiate=grad-aux=0
func.func @gate(
    %q: tensor<?x16x?x128xbf16> {tile.name = "q"},
    %k: tensor<?x2x?x128xbf16> {tile.name = "k"},
    %v: tensor<?x2x?x128xbf16> {tile.name = "v"},
    %gate: tensor<?x16x?x128xbf16> {tile.name = "gate"})
    -> (tensor<?x16x?x128xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%gate : tensor<?x16x?x128xbf16>)
    mods [#attention.causal]
    : (tensor<?x16x?x128xbf16>, tensor<?x2x?x128xbf16>, tensor<?x2x?x128xbf16>)
    -> tensor<?x16x?x128xbf16>
    epilogue (%x, %b, %h, %i, %c) {
      %one = arith.constant 1.0 : f32
      %element = tensor.extract %gate[%b, %h, %i, %c] : tensor<?x16x?x128xbf16>
      %wide = arith.extf %element : bf16 to f32
      %negative = arith.negf %wide : f32
      %power = math.exp %negative : f32
      %sum = arith.addf %power, %one : f32
      %gated = arith.divf %x, %sum : f32
      attention.yield %gated : f32
    }
  return %o : tensor<?x16x?x128xbf16>
}
