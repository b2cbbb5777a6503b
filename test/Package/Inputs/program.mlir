// Attention with a modification of dialect.cpp between operations that nobody
// knows, and its gradient.
!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>
func.func @step(%x: !t, %g: !t) -> (!t, !t) {
  %q = "other.norm"(%x) : (!t) -> !t
  %o, %lse = attention.forward %q, %x, %x mods [#embed.atan] : (!t, !t, !t) -> (!t, !l)
  %y = "other.loss"(%o, %g) ({
    %dq, %dk, %dv = attention.backward %q, %x, %x, %o, %lse, %g mods [#embed.atan]
      : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
    "other.yield"(%dq, %dk, %dv) : (!t, !t, !t) -> ()
  }) : (!t, !t) -> !t
  return %o, %y : !t, !t
}
