// Linear biases (ALiBi) and an additive bias, written by hand: the score_mod region
// reads one slope per head and an element of the bias, which all batches share.
// A scalar argument scales the bias. The flags allow other orders of rounding, so
// that the arithmetic joins that of the kernel around it.

func.func @alibi_bias(
    %q: tensor<?x?x?x64xf16> {tile.name = "q"},
    %k: tensor<?x?x?x64xf16> {tile.name = "k"},
    %v: tensor<?x?x?x64xf16> {tile.name = "v"},
    %slopes: tensor<?xf32> {tile.name = "slopes"},
    %bias: tensor<1x?x?x?xf16> {tile.name = "bias"},
    %strength: f32 {tile.name = "strength"})
    -> (tensor<?x?x?x64xf16> {tile.name = "o"},
        tensor<?x?x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v
    aux(%slopes, %bias : tensor<?xf32>, tensor<1x?x?x?xf16>)
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>)
    -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
    score_mod (%s, %b, %h, %i, %j) {
      %c0 = arith.constant 0 : index
      // The distance from the key that is aligned with the query.
      %sk = attention.length key
      %sq = attention.length query
      %offset = arith.subi %sk, %sq : index
      %aligned = arith.addi %i, %offset : index
      %distance = arith.subi %j, %aligned : index
      %int = arith.index_cast %distance : index to i32
      %float = arith.sitofp %int : i32 to f32
      %far = math.absf %float : f32
      %slope = tensor.extract %slopes[%h] : tensor<?xf32>
      %penalty = arith.mulf %slope, %far fastmath<reassoc, contract> : f32
      %s1 = arith.subf %s, %penalty fastmath<reassoc, contract> : f32
      %e = tensor.extract %bias[%c0, %h, %i, %j] : tensor<1x?x?x?xf16>
      %wide = arith.extf %e : f16 to f32
      %scaled = arith.mulf %wide, %strength fastmath<reassoc, contract> : f32
      %s2 = arith.addf %s1, %scaled fastmath<reassoc, contract> : f32
      attention.yield %s2 : f32
    }
  return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}
