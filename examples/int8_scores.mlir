// q and k as integers of 8 bits, weights and values as 8-bit floats (the split
// of SageAttention2, arXiv 2411.10958, with 8 bits in place of 4): after a Hadamard
// rotation all elements of a row are of one magnitude, where integers round more
// finely than f8E4M3FN. This is what `attention-quantize="scales=block hadamard qk-format=i8"` makes of
// attention in fp16.
!q = tensor<?x?x?x128xf16>
!i8 = tensor<?x?x?x128xi8>
!f8 = tensor<?x?x?x128xf8E4M3FN>
!s = tensor<?x?x?xf32>

func.func @int8_scores(%q: !q, %k: !q, %v: !q, %signs: tensor<128xf16>) -> !q {
  %q8, %qs = attention.quantize %q rotate %signs : tensor<128xf16> rows 128 : !q -> !i8, !s
  %k8, %ks = attention.quantize %k rotate %signs : tensor<128xf16> rows 128 : !q -> !i8, !s
  %v8, %vs = attention.quantize %v rows 128 : !q -> !f8, !s
  %o = attention.forward %q8, %k8, %v8 scales(%qs, %ks, %vs : !s, !s, !s) rows [128, 128, 128]
    : (!i8, !i8, !f8) -> !q
  return %o : !q
}
