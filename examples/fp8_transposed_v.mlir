// Causal attention in FP8 with v given as (batch, head, element, key): keys are
// contiguous, as 8-bit products want them, and nothing is transposed in the
// kernel.
!q = tensor<?x?x?x128xf8E4M3FN>
!v = tensor<?x?x128x?xf8E4M3FN>
!o = tensor<?x?x?x128xbf16>
!s = tensor<1x1x1xf32>

func.func @fp8_transposed_v(%q: !q, %k: !q, %v: !v, %qs: !s, %ks: !s, %vs: !s) -> !o {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : !s, !s, !s) transposed_v
    mods [#attention.causal] : (!q, !q, !v) -> !o
  return %o : !o
}
