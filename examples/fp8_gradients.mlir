// Gradients with scores and gradients of weights as products of 8-bit floats:
// q, k, v and the gradient of o are quantized, one scale a head, q and k rotated
// by a Hadamard matrix with the given signs. The other three products are of
// bf16, as always. `attention-quantize="gradients"` makes such a program of
// gradients in bf16; with `hadamard` it rotates v and do as well.
// lse is that of the 8-bit forward.
!q = tensor<?x32x?x128xbf16>
!k = tensor<?x8x?x128xbf16>
!l = tensor<?x32x?xf32>
!q8 = tensor<?x32x?x128xf8E4M3FN>
!k8 = tensor<?x8x?x128xf8E4M3FN>
!qs = tensor<?x32x1xf32>
!ks = tensor<?x8x1xf32>
!r = tensor<128xbf16>

func.func @fp8_gradients(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !l, %do: !q, %signs: !r) -> (!q, !k, !k) {
  %q8, %qs = attention.quantize %q rotate %signs : !r : !q -> !q8, !qs
  %k8, %ks = attention.quantize %k rotate %signs : !r : !k -> !k8, !ks
  %v8, %vs = attention.quantize %v : !k -> !k8, !ks
  %do8, %dos = attention.quantize %do : !q -> !q8, !qs
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
    quantized(%q8, %k8, %v8, %do8 : !q8, !k8, !k8, !q8) scales(%qs, %ks, %vs, %dos : !qs, !ks, !ks, !qs)
    mods [#attention.causal]
    : (!q, !k, !k, !q, !l, !q) -> (!q, !k, !k)
  return %dq, %dk, %dv : !q, !k, !k
}
