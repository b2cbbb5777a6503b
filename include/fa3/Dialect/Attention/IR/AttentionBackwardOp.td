//===- AttentionBackwardOp.td - gradients of attention -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Included by AttentionOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_ATTENTION_BACKWARD_OP
#define FA3_ATTENTION_BACKWARD_OP

def Attention_BackwardOp : Attention_Op<"backward", [
    AttrSizedOperandSegments, RecursiveMemoryEffects, SingleBlock,
    Attention_ScoredOpInterface]> {
  let summary = "gradients of scaled dot-product attention";
  let description = [{
    The gradients of a number with respect to q, k and v of an
    `attention.forward`, given its results o and lse and the gradient `do` with
    respect to o. For every batch b, query head h, query i and visible key j of
    head h div (heads / key heads):
    ```
    x     = scale * sum_c q[i, c] * k[j, c]
    p     = exp(score(x, b, h, i, j) - lse[i])
    delta = sum_c do[i, c] * o[i, c] - dlse[i]
    dz    = p * (sum_c do[i, c] * v[j, c] - delta)
    dx    = dz * the derivative of score with respect to x
    dv[j, c] = sum_i p * do[i, c]
    dk[j, c] = scale * sum_i dx * q[i, c]
    dq[i, c] = scale * sum_j dx * k[j, c]
    ```
    Sums over i are over the queries of all heads that share the key head. Keys
    that are not visible have p = dx = 0, so that queries without visible keys
    (lse = -inf) have dq = 0, and keys that nobody sees dk = dv = 0. Sums are in
    fp32, p and dx are rounded to the element type. The last bits of dq may differ
    from run to run: `attention-to-tile` gives the same ones with
    `deterministic`, and otherwise where `backward-form` is split.

    Operands, `layout`, `scale`, `mods`, `score_mod` and `mask_mod` are those of the
    `attention.forward`. `dlse` is the gradient with respect to its lse, 0 if it
    is not given.

    `keep_mod` and `kept_scale` are those of the forward. With r = `kept_scale`
    where `keep_mod` keeps a pair and 0 elsewhere,
    ```
    dz       = p * (r * sum_c do[i, c] * v[j, c] - delta)
    dv[j, c] = sum_i r * p * do[i, c]
    ```

    `epilogue` is that of the forward. o is then what the forward gives as
    `plain`, and the operand `do` is the gradient with respect to what is stored:
    the gradient with respect to o, `do` everywhere above, is the first result of
    `epilogue_grad`, rounded to the element type. That takes (f32 x, f32 dy,
    index b, h, i, c), x an element of o and dy one of the operand, and holds
    what `score_grad` does; `attention-derive-gradient` writes it where it is
    missing.

    `score_grad` takes (f32 x, f32 dz, index b, h, i, j) and yields dx; what it
    holds is as in `score_mod`. `attention-derive-gradient` writes it where it is
    missing and there is score code.

    `grad_aux` names auxiliary operands, by number, whose gradients are further
    results, in this order. `score_mod` reads such an operand at one place: an
    element gets the sum of dz times the derivative with respect to it over all
    pairs that read it, 0 where no visible one does. `score_grad` then yields one
    more f32 for each: what the pair (i, j) adds. With indices that are batch,
    head, query or key, or 0 along an extent of 1, sums are in fp32. Other places
    are in a table, as `table[h, i - j]` or buckets: sums are exact, and a pair
    that reads outside of the table adds nothing. Of an
    operand that `epilogue` reads an element gets the sum of dy times the
    derivative with respect to it, over the columns for which it is read;
    `epilogue_grad` yields one more f32 for each such operand, in the order of
    `grad_aux`.

    `sequences` is that of the forward: q, o, do and dq have their rows where
    `place_q` says, lse and dlse theirs, k, v, dk and dv where `place_k` says.
    Sums over i are over the first `max_q` queries of a sequence. Rows of dq, dk
    and dv that are no row of a sequence are never written, rows of lse and dlse
    that are none never looked at. No two keys have the same place: `place_k`
    yields b itself, or, as `packed` does, rows from an element of a rank-1
    operand on that say where each sequence starts.

    `group` is that of the forward.

    With `quantized` the two products above that contract head dims are of 8-bit
    floats, with sums in fp32: x of q8 and k8, the gradient of p of do8 and v8,
    each in units of its of the four `scales` (b', h'), which batches and heads
    share as in `attention.forward`:
    ```
    x     = scale * qs * ks * sum_c q8[i, c] * k8[j, c]
    dz    = p * (dos * vs * sum_c do8[i, c] * v8[j, c] - delta)
    ```
    The other three products are of q, k, do and of p and dx in 16 bits, as
    without it; of v only the type of its gradient is left. lse is that of scores
    of q8 and k8, if weights shall sum up to 1.

    `blocks` is an `attention.blocks` with lists by queries, which are those of
    the forward, and by keys.

    Example:
    ```mlir
    %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do mods [#attention.causal]
      : (tensor<2x32x?x128xbf16>, tensor<2x8x?x128xbf16>, tensor<2x8x?x128xbf16>,
         tensor<2x32x?x128xbf16>, tensor<2x32x?xf32>, tensor<2x32x?x128xbf16>)
      -> (tensor<2x32x?x128xbf16>, tensor<2x8x?x128xbf16>, tensor<2x8x?x128xbf16>)
    ```

    C1. q, k, v, o and do have rank 4, lse and dlse rank 3; with `place_q` or
        `place_k` they have one dimension for every index it yields, and q, k, v, o
        and do the last one.
    C2. q, k, v, o and do have one element type, f16 or bf16; lse and dlse have
        f32.
    C3. the head dims are static multiples of 8, that of q and k up to 576, that of
        v, o and do up to 512; they agree.
    C4. batch extents agree, where there is no place.
    C5. k and v agree in heads and in keys; q, o, do, lse and dlse in heads and
        queries.
    C6. the key heads divide the query heads.
    C7. score_mod has arguments (f32, index, index, index, index), score_grad (f32,
        f32, index, index, index, index), and both yield f32, score_grad one more
        for every number of grad_aux whose operand `epilogue` does not read.
    C8. mask_mod has arguments (index, index, index, index) and yields i1.
    C9. the regions hold only pure elementwise scalar operations, constants,
        `attention.length` and `tensor.extract` of auxiliary operands.
    C10. the regions capture only scalars and auxiliary operands.
    C11. mods are modifications of this dialect, each fit for its operands.
    C12. a constant scale is positive and at most 2^10.
    C13. dq, dk and dv have the types of q, k and v.
    C14. there is no score_grad without score.
    C15. of math the regions may have what docs/ScoreCode.md lists, on floats of
        at most 32 bits.
    C16. grad_aux has numbers of auxiliary operands, none twice, of rank 1 or
        more and f16, bf16 or f32; their gradients have their types.
    C17. score_mod, once mods are expanded, reads each of them at one place: with
        the same indices.
    C18. sequences and blocks are results of `attention.sequences` and
        `attention.blocks`.
    C19. the code of these reads auxiliary operands and no other tensors.
    C20. a place comes with lengths, of `sequences` or of mods.
    C21. there are no lengths beside a number of grad_aux whose operand `epilogue`
        does not read.
    C22. keep_mod has arguments (index, index, index, index) and yields i1.
    C23. `kept_scale` is positive, a normal number of f32, and beside `keep_mod`.
    C24. lists by queries and by keys have blocks of one size.
    C25. there is one of each, of `blocks` or of mods, or none of both.
    C26. there are no lengths, no `max_q` and no number of grad_aux as in C21 beside
        them.
    C27. epilogue has arguments (f32, index, index, index, index) and yields f32,
        epilogue_grad (f32, f32, index, index, index, index) and yields f32, one
        more for every number of grad_aux whose operand `epilogue` reads.
    C28. there is no epilogue_grad without epilogue.
    C29. an operand with a gradient is read by `score_mod` or by `epilogue`. The
        latter reads it at one place: batch, head and query, in any order, and
        behind them perhaps the column, each once; with `place_q` the batch and the
        row that it yields, which without an index in front of the head has no
        batch. Without lengths there is no `max_q` beside it.
    C30. `group` is at least 1, and static numbers of heads agree with it.
    C31. q8, k8, v8 and do8 come together, with four scales. They have the shapes
        of q, k, v and do and one element type, f8E4M3FN or f8E5M2; head dims are
        multiples of 16 up to 256.
    C32. scales are of rank 3 and f32, with a last extent of 1: for whole
        sequences.
    C33. beside them there are no lengths, places, `max_q`, lists of blocks,
        `grad_aux` and `epilogue`.
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k, AnyRankedTensor:$v,
                       AnyRankedTensor:$o, AnyRankedTensor:$lse,
                       AnyRankedTensor:$outGrad,
                       Optional<AnyRankedTensor>:$lseGrad,
                       Variadic<AnyRankedTensor>:$copies,
                       Variadic<AnyRankedTensor>:$scales,
                       Variadic<AnyRankedTensor>:$aux, Optional<F32>:$scale,
                       Optional<Attention_Sequences>:$sequences,
                       Optional<Attention_Blocks>:$blocks,
                       OptionalAttr<DenseI64ArrayAttr>:$gradAux,
                       DefaultValuedAttr<Attention_Layout, "::fa3::attention::Layout::bhsd">:$layout,
                       OptionalAttr<ArrayAttr>:$mods,
                       OptionalAttr<F32Attr>:$keptScale,
                       OptionalAttr<I64Attr>:$group);
  let results = (outs AnyRankedTensor:$dq, AnyRankedTensor:$dk, AnyRankedTensor:$dv,
                      Variadic<AnyRankedTensor>:$auxGrads);
  let regions = (region MaxSizedRegion<1>:$scoreMod,
                        MaxSizedRegion<1>:$scoreGradRegion,
                        MaxSizedRegion<1>:$maskMod,
                        MaxSizedRegion<1>:$keepMod,
                        MaxSizedRegion<1>:$epilogue,
                        MaxSizedRegion<1>:$epilogueGradRegion);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::SmallVector<Role> getRoles();
    ::llvm::SmallVector<::mlir::Region *> listCode();
    bool takesListsByKey() { return true; }
    int64_t getHeadDim() {
      return ::llvm::cast<::mlir::RankedTensorType>(getK().getType()).getShape().back();
    }
    int64_t getValueHeadDim() {
      return ::llvm::cast<::mlir::RankedTensorType>(getV().getType()).getShape().back();
    }
    ::mlir::Type getElementType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getQ().getType()).getElementType();
    }
    /// Whether there are 8-bit copies of operands, and with them scales.
    bool hasScales() { return !getScales().empty(); }
    int64_t getScaleRows(unsigned) { return 0; }
    /// Numbers of the auxiliary operands whose gradients are asked for.
    ::llvm::ArrayRef<int64_t> getAuxNumbers() {
      return getGradAux().value_or(::llvm::ArrayRef<int64_t>());
    }
    /// Those of these numbers that `epilogue` reads, or those that it does not.
    ::llvm::SmallVector<int64_t> getAuxNumbers(bool ofEpilogue);
  }];
}

#endif // FA3_ATTENTION_BACKWARD_OP
