// Queries of 16 bits on keys and values of 8 bits with one scale a head: an
// element of q becomes the sum of two 8-bit floats, so that q is rounded about
// as finely as bf16, and k and v, of which there are many, keep one number an
// element. This is what `attention-quantize="q-terms=2"` makes of q where k and v
// have been quantized before.
!q = tensor<?x?x?x128xbf16>
!q8 = tensor<?x?x?x256xf8E4M3FN>
!k8 = tensor<?x?x?x128xf8E4M3FN>
!s = tensor<?x?x1xf32>

func.func @fp8_terms(%q: !q, %k: !k8, %v: !k8, %ks: !s, %vs: !s) -> !q {
  %q8, %qs = attention.quantize %q terms 2 : !q -> !q8, !s
  %o = attention.forward %q8, %k, %v scales(%qs, %ks, %vs : !s, !s, !s) q_terms 2
    mods [#attention.causal] : (!q8, !k8, !k8) -> !q
  return %o : !q
}
