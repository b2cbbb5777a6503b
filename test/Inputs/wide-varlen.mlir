// Gradients of packed sequences with head dims of latent attention, 576 and 512.
!q = tensor<?x8x576xbf16>
!k = tensor<?x4x576xbf16>
!v = tensor<?x4x512xbf16>
!o = tensor<?x8x512xbf16>
!lse = tensor<8x?xf32>
!cu = tensor<?xi32>
func.func @varlen(%q: !q {tile.name = "q"}, %k: !k {tile.name = "k"}, %v: !v {tile.name = "v"}, %o: !o {tile.name = "o"}, %lse: !lse {tile.name = "lse"}, %do: !o {tile.name = "do"}, %cu_q: !cu {tile.name = "cu_q"}, %cu_k: !cu {tile.name = "cu_k"}) -> (!q {tile.name = "dq"}, !k {tile.name = "dk"}, !v {tile.name = "dv"}) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do aux(%cu_q, %cu_k : !cu, !cu) layout bshd mods [#attention.packed<q = 0, k = 1>, #attention.causal] : (!q, !k, !v, !o, !lse, !o) -> (!q, !k, !v)
  return %dq, %dk, %dv : !q, !k, !v
}
