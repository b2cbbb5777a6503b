// FlashAttention-3 in FP8 (arXiv 2407.08608, section 3.3) from fp16 tensors: one
// scale for every 128 rows, q and k rotated by a Hadamard matrix with the given
// signs. This is what `attention-quantize="scales=block hadamard"` makes of
// causal attention; quantizing kernels and attention are one program.
!q = tensor<?x?x?x128xf16>
!q8 = tensor<?x?x?x128xf8E4M3FN>
!s = tensor<?x?x?xf32>

func.func @fp8_blocks(%q: !q, %k: !q, %v: !q, %signs: tensor<128xf16>) -> !q {
  %q8, %qs = attention.quantize %q rotate %signs : tensor<128xf16> rows 128 : !q -> !q8, !s
  %k8, %ks = attention.quantize %k rotate %signs : tensor<128xf16> rows 128 : !q -> !q8, !s
  %v8, %vs = attention.quantize %v rows 128 : !q -> !q8, !s
  %o = attention.forward %q8, %k8, %v8 scales(%qs, %ks, %vs : !s, !s, !s) rows [128, 128, 128]
    mods [#attention.causal] : (!q8, !q8, !q8) -> !q
  return %o : !q
}
