!t = tensor<?x?x?x64xbf16>
!l = tensor<?x?x?xf32>
func.func @backward_gate_64(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %gate: !t {tile.name = "gate"}, %of_row: !l {tile.name = "of_row"})
    -> (!t, !t, !t, !t {tile.name = "dgate"}, !l {tile.name = "dof_row"}) {
  %r:5 = attention.backward %q, %k, %v, %o, %lse, %do aux(%gate, %of_row : !t, !l) grad_aux [0, 1] mods [#attention.causal]
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t, !t, !l)
    epilogue (%x, %b, %h, %i, %c) {
      %g = tensor.extract %gate[%b, %h, %i, %c] : !t
      %wide = arith.extf %g : bf16 to f32
      %r = tensor.extract %of_row[%b, %h, %i] : !l
      %gated = arith.mulf %x, %wide : f32
      %y = arith.mulf %gated, %r : f32
      attention.yield %y : f32
    }
  return %r#0, %r#1, %r#2, %r#3, %r#4 : !t, !t, !t, !t, !l
}
