// Prefix language model: every query sees the prompt, whose length is a run-time
// argument, and the keys up to its own position. Written by hand, because
// #attention.prefix takes a constant; values have 128 elements, keys 192.

func.func @prefix_lm(
    %q: tensor<?x16x?x192xbf16> {tile.name = "q"},
    %k: tensor<?x16x?x192xbf16> {tile.name = "k"},
    %v: tensor<?x16x?x128xbf16> {tile.name = "v"},
    %prompt: index {tile.name = "prompt"})
    -> (tensor<?x16x?x128xbf16> {tile.name = "o"},
        tensor<?x16x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v
    : (tensor<?x16x?x192xbf16>, tensor<?x16x?x192xbf16>, tensor<?x16x?x128xbf16>)
    -> (tensor<?x16x?x128xbf16>, tensor<?x16x?xf32>)
    mask_mod (%b, %h, %i, %j) {
      %in_prompt = arith.cmpi slt, %j, %prompt : index
      %sk = attention.length key
      %sq = attention.length query
      %offset = arith.subi %sk, %sq : index
      %last = arith.addi %i, %offset : index
      %causal = arith.cmpi sle, %j, %last : index
      %keep = arith.ori %in_prompt, %causal : i1
      attention.yield %keep : i1
    }
  return %o, %lse : tensor<?x16x?x128xbf16>, tensor<?x16x?xf32>
}
