//===- AttentionForwardOp.td - attention -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Included by AttentionOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_ATTENTION_FORWARD_OP
#define FA3_ATTENTION_FORWARD_OP

def Attention_ForwardOp : Attention_Op<"forward", [
    AttrSizedOperandSegments, AttrSizedResultSegments, RecursiveMemoryEffects, SingleBlock,
    Attention_ScoredOpInterface]> {
  let summary = "scaled dot-product attention";
  let description = [{
    For every batch b, query head h and query i, over the keys j of head h div
    (heads / key heads):
    ```
    s[j] = score_mod(scale * sum_c q[i, c] * k[j, c], b, h, i, j)   if mask_mod(b, h, i, j), else -inf
    o[i, c] = sum_j softmax(s)[j] * v[j, c]
    lse[i] = ln sum_j exp(s[j])
    ```
    A query with no visible key gives o = 0 and lse = -inf, also where there are
    no keys at all. Sums are in fp32. With unequal lengths the mods align the
    sequences at their ends: query i stands at key i + (keys - queries).

    `layout` says in which order q, k, v and o hold their dimensions: `bhsd`
    (batch, head, sequence, element) or `bshd`; lse is always (batch, head,
    query). All dimensions but the head dims may be dynamic; strides are a
    matter of the caller's memory, with the last dimension contiguous. `scale`
    is a value or a number, as in `scale 0.125`; without it it is 1/sqrt(d), of
    all columns that scores are sums over.

    With `transposed_v` the sequence and the element dimension of v change
    places, so that keys are contiguous: (batch, head, element, sequence) with
    `bhsd`, (batch, element, head, sequence) with `bshd`. 8-bit products sum over
    contiguous elements only; a kernel transposes other v on the way.

    `score_mod` takes (f32 score, index b, h, i, j) and yields f32; `mask_mod` takes
    (index b, h, i, j) and yields i1. They may use scalars of the surrounding
    code, `attention.length`, and elements of the `aux` operands through
    `tensor.extract`. `mods` are one-line forms that `attention-expand-mods`
    turns into these regions: scores are edited by the mods in order, then by
    `score_mod`; a key must be kept by all mods and by `mask_mod`.

    8-bit operands are numbers in units of their `scales`, f32 tensors of rank 3
    (i8, the integers -128 to 127, is for q and k only: weights span more):
    q[i, c] stands for q[i, c] * qs[b', h', i div rows[0]], k and v likewise. An
    extent of a scale that is less than that of the batch or of the heads of q is
    shared evenly: b' = b * extent div batch, h' = h * extent div heads, so 1
    serves all, and the number of key heads serves each group. `rows` 0, the
    default, is one scale for the whole sequence (flash-attention's descale), 1
    one for every token, others one for every block of rows.

    With `nibbles(%ks, %vs)` k and v are i8 and hold two integers from -8 to 7 in
    every byte, so that half as many columns are a row: with d columns, column c
    is in bits 0 to 3 of byte c for c < d / 2, and in bits 4 to 7 of byte
    c - d / 2 for the others. Every row has a scale of its own: its elements
    stand for the integers times ks, or vs, which are (batch, key head, key), or
    what places index, as lse is for queries.

    Sequences of a batch may have lengths of their own, and lie anywhere in
    memory: `sequences` is an `attention.sequences` that says how many queries and
    keys there are, and where. The number of sequences is what the aux operands
    that its code reads by b have room for. Rows of o and lse that are no query's
    place are never written.

    `blocks` is an `attention.blocks`, whose lists by queries say which blocks of
    keys a block of queries may see. `mods` edit both.

    With `splits` n the keys of a sequence are summed up in n parts, which are
    merged by their lse in fp32 (Flash-Decoding): what few queries of long
    sequences want. It changes the order of sums and nothing else. Parts without
    keys are fine. With 0 the launch chooses n by extents and multiprocessors.

    `sinks` holds a score for every query head (attention sinks as in gpt-oss):
    one more column of every row, whose weight counts in the sum of weights and
    in lse and which has no value. A query with no visible key then has o = 0 and
    lse = its sink.

    An 8-bit float has few digits. With `q_terms` 2 an element of q is a sum of
    two of them, one d columns behind the other, in units of the same scale:
    q[i, c] + q[i, d + c] is in the place of q[i, c]. Keys, of which there may be
    many, keep one number an element. It is what `attention.quantize` gives with
    `terms` 2.

    `keep_mod` takes (index b, h, i, j) and yields whether a weight counts in o
    (dropout): one that does is multiplied by `kept_scale` there, 1 if that is not
    given, another one has no value. The sum of weights, and lse, are of all that
    are visible:
    ```
    o[i, c] = kept_scale * sum_j (keep_mod(b, h, i, j) ? softmax(s)[j] : 0) * v[j, c]
    ```
    It may use `attention.heads` as well. `#attention.dropout` is such code.

    With `qv` scores have a second part, of values: it has the rows of q and the
    head dim of v, and
    ```
    s[j] = score_mod(scale * (sum_c q[i, c] * k[j, c] + sum_c qv[i, c] * v[j, c]), b, h, i, j)
    ```
    It is multi-head latent attention in its absorbed form: v is the latent part
    of a cache, k the rotary one, and each is read once. They may be columns of
    one memory (strides are those of the launch).

    `epilogue` takes (f32 x, index b, h, i, c), where x is o[i, c] in fp32, and
    yields what is stored in its place: an output gate, a residual, a scale of
    8-bit output. It holds code as `score_mod` does; c is the number of a column.
    Its result is rounded to the type of o, to the largest number of an 8-bit
    type where it is larger. Queries without visible keys have x = 0. With
    `splits` x is the merged output.

    With `plain` there is a third result, behind o and lse: o as it would be
    without `epilogue`, which gradients are computed from.

    With `group` n every key head has n query heads (grouped-query attention),
    which the launch checks. It is for types that do not say how many heads there
    are: a pass that wants to know only n, to make the heads of a group rows of
    one tile, has it.

    With `max_logits` the last result is the largest score of every query, f32
    and in the order of lse: of visible keys and behind `score_mod`, -inf where
    there are none. Sinks are no scores of keys and have no part in it, nor has
    `keep_mod`; a score that is NaN counts for nothing. It is what QK-clip wants
    (MuonClip, arXiv 2507.20534, section 2.1): the maximum over all rows of a
    head is the head's largest logit, and maxima have no order.

    `previous` has o and lse of the same queries with other keys: of an earlier
    step of ring attention, of a prefix. The results are those of all keys:
    ```
    lse = ln (exp(lse of these keys) + exp(previous lse))
    o = exp(previous lse - lse) * previous o + exp(lse of these keys - lse) * (o of these keys)
    ```
    in fp32, in front of `epilogue`. Where previous lse is -inf there were no keys,
    and previous o has no part, whatever it is. Sinks count with those keys that
    they are given with; `max_logits` is of these keys. Between steps o wants f32: a
    sum of several is rounded once then.

    Example:
    ```mlir
    %o, %lse = attention.forward %q, %k, %v mods [#attention.causal]
      : (tensor<2x32x?x128xbf16>, tensor<2x8x?x128xbf16>, tensor<2x8x?x128xbf16>)
      -> (tensor<2x32x?x128xbf16>, tensor<2x32x?xf32>)
    ```

    C1. q, k, v and o have rank 4, lse and max_logits rank 3; with `place_q` or
        `place_k` of `sequences` they have one dimension for every index it
        yields, and q, k, v and o the last one.
    C2. q, k and v have one element type: f16, bf16, f8E4M3FN or f8E5M2; or q
        and k have i8, and v f8E4M3FN or f8E5M2. o has that of q or f32, or f16,
        bf16 or f32 with 8-bit operands; lse and max_logits have f32.
    C3. the head dims (element dimensions) are static, from 1 to 576, that of v to
        512; with 8-bit operands multiples of 16 to 256; that of q is `q_terms` times that of k, v and o
        agree. In memory rows of q, k and v start at multiples of 16 bytes: with
        head dims that are no multiples of 8 there is room behind them.
    C4. batch extents agree, where there is no place.
    C5. k and v agree in heads and in keys; q, o, lse and max_logits in heads and queries.
    C6. the key heads divide the query heads.
    C7. score_mod has arguments (f32, index, index, index, index) and yields f32.
    C8. mask_mod has arguments (index, index, index, index) and yields i1.
    C9. the regions hold only pure elementwise scalar operations, constants,
        `tensor.extract` and `tensor.dim` of auxiliary operands, and, where
        they take queries and keys, `attention.length`; at
        most 1024 operations each.
    C10. the regions capture only scalars and auxiliary operands. After
        bufferization `memref.load` and `memref.dim` may read the memory that
        `bufferization.to_tensor` makes an auxiliary operand of;
        attention-outline makes them reads of the operand again.
    C11. mods are modifications of this dialect, each fit for its operands, at
        most 64.
    C12. a constant scale is positive and at most 2^16: products of queries and
        keys times a larger one have no digits left for weights.
    C13. 8-bit operands have scales for q, k and v, others none; scales are of
        rank 3 and f32, the last extent 1 for `rows` 0.
    C14. `rows` are three numbers of at least 0.
    C15. `q_terms` is 1, or 2 with q and k of f8E4M3FN or f8E5M2.
    C16. sequences and blocks are results of `attention.sequences` and
        `attention.blocks`.
    C17. the code of these reads auxiliary operands and no other tensors.
    C18. a place comes with lengths, of `sequences` or of mods, without
        `transposed_v`, and scales beside it are for whole sequences.
    C19. sinks have rank 1, elements of f32 and the extent of the query heads.
    C20. a constant number of splits is at least 0.
    C21. static extents of operands and results are at most 2^30, and so is the
        number of blocks of 64 queries in all batches and heads: kernels count in
        32 bits.
    C22. of math the regions may have what docs/ScoreCode.md lists, on floats of
        at most 32 bits.
    C23. the scale is a value or a number, not both.
    C24. blocks list by queries, in sizes that `attention.blocks` may have.
    C25. there is one list, of `blocks` or of mods by queries, and no `splits`
        beside it.
    C26. `group` is at least 1, and static numbers of heads agree with it.
    C27. keep_mod has arguments (index, index, index, index) and yields i1.
    C28. `kept_scale` is positive, a normal number of f32, and beside `keep_mod`.
    C29. qv has the shape and the element type of q, but for the head dim, which
        is that of v; it is of 16 bits, its columns and those of q are at most
        576, and it is not beside `transposed_v`.
    C30. epilogue has arguments (f32, index, index, index, index) and yields f32.
        Beside it o has f16, bf16, f32, f8E4M3FN or f8E5M2.
    C31. `plain` comes with `epilogue` and lse; its result has the shape of o and
        the element type that o would have without `epilogue`.
    C32. previous o has the shape of o and f16, bf16 or f32, previous lse f32 and
        the shape of lse.
    C33. beside `nibbles` k and v have i8, and q f16 or bf16; for C1 to C6 they
        are arrays of that with twice the columns, which are multiples of 32 up
        to 256. Their scales are f32, a number for each of their rows. There is no
        `scales`, `qv` nor `transposed_v`.
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k, AnyRankedTensor:$v,
                       Optional<AnyRankedTensor>:$qv,
                       Variadic<AnyRankedTensor>:$aux, Optional<F32>:$scale,
                       Variadic<AnyRankedTensor>:$scales,
                       Optional<Attention_Sequences>:$sequences,
                       Optional<Attention_Blocks>:$blocks, Optional<Index>:$splits,
                       Optional<AnyRankedTensor>:$sinks,
                       Optional<AnyRankedTensor>:$previousO,
                       Optional<AnyRankedTensor>:$previousLse,
                       Optional<AnyRankedTensor>:$keyScale,
                       Optional<AnyRankedTensor>:$valueScale,
                       OptionalAttr<DenseI64ArrayAttr>:$rows,
                       DefaultValuedAttr<I64Attr, "1">:$qTerms,
                       DefaultValuedAttr<Attention_Layout, "::fa3::attention::Layout::bhsd">:$layout,
                       UnitAttr:$transposedV,
                       OptionalAttr<ArrayAttr>:$mods,
                       OptionalAttr<F32Attr>:$literalScale,
                       OptionalAttr<I64Attr>:$group,
                       OptionalAttr<F32Attr>:$keptScale);
  let results = (outs AnyRankedTensor:$o, Optional<AnyRankedTensor>:$lse,
                      Optional<AnyRankedTensor>:$plain,
                      Optional<AnyRankedTensor>:$maxLogits);
  let regions = (region MaxSizedRegion<1>:$scoreMod, MaxSizedRegion<1>:$maskMod,
                        MaxSizedRegion<1>:$keepMod, MaxSizedRegion<1>:$epilogue);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let builders = [
    // Types of the results follow from the operands; mods are the one-liners.
    OpBuilder<(ins "::mlir::Value":$q, "::mlir::Value":$k, "::mlir::Value":$v,
                   CArg<"::llvm::ArrayRef<::mlir::Attribute>", "{}">:$mods,
                   CArg<"::mlir::ValueRange", "{}">:$aux,
                   CArg<"::mlir::Value", "{}">:$scale,
                   CArg<"::fa3::attention::Layout",
                        "::fa3::attention::Layout::bhsd">:$layout,
                   CArg<"bool", "true">:$withLse)>
  ];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<Role> getRoles();
    ::llvm::SmallVector<::mlir::Region *> listCode();
    /// Lists by blocks of keys are for gradients.
    bool takesListsByKey() { return false; }
    /// Whether `value` is a result with one number for every query.
    bool isOfRows(::mlir::Value value) {
      return value && (value == getLse() || value == getMaxLogits());
    }
    /// Whether k and v hold two integers in a byte.
    bool hasNibbles() { return bool(getKeyScale()); }
    /// The type of k or v, or with nibbles that of an array of what they stand
    /// for.
    ::mlir::RankedTensorType getMeantType(::mlir::RankedTensorType type);
    /// Elements of a query and of a key; q has `q_terms` columns for each.
    int64_t getHeadDim() {
      return getMeantType(getK().getType()).getShape().back();
    }
    int64_t getValueHeadDim() {
      return getValueType().getShape().back();
    }
    /// Elements that a score is a sum over: those of a key, and with `qv` those
    /// of a value.
    int64_t getScoreDim() {
      return getHeadDim() + (getQv() ? getValueHeadDim() : 0);
    }
    /// The meant type of v with its dimensions in the order of `layout`.
    ::mlir::RankedTensorType getValueType();
    /// Rows that share a scale, 0 for all, of q (0), k (1) or v (2).
    int64_t getScaleRows(unsigned operand) {
      return getRows() ? (*getRows())[operand] : 0;
    }
    bool hasScales() { return !getScales().empty(); }
    /// Query heads of every key head, if types or `group` say how many.
    ::std::optional<int64_t> getStaticGroup();
    /// The element type of q and k, and that of v and of the weights.
    ::mlir::Type getElementType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getQ().getType()).getElementType();
    }
    ::mlir::Type getValueElementType() {
      return getMeantType(getV().getType()).getElementType();
    }
  }];
}

#endif // FA3_ATTENTION_FORWARD_OP
