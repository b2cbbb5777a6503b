//===- AttentionOps.td - operations of attention -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_ATTENTION_OPS
#define FA3_ATTENTION_OPS

include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "fa3/Dialect/Attention/IR/AttentionAttrs.td"
include "fa3/Dialect/Attention/IR/AttentionCallOp.td"

class Attention_Op<string mnemonic, list<Trait> traits = []>
    : Op<Attention_Dialect, mnemonic, traits>;

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
    memory. `lengths` takes (index b) and yields the queries and keys of a
    sequence; a number below 0 counts as 0. `place_q` takes (index b, h, i) and
    yields the indices of a query in q and o, all but the last, and in lse;
    `place_k` takes (index b, key head h, j) and yields those of a key in k and
    v. Without them a sequence has the extents of q and k, and is at (b, h, i).
    They hold integer code like `mask_mod` does. `mods` edit what they yield, in
    order. The number of sequences is what the aux operands that these regions
    read by b have room for. Rows of o and lse that are no query's place are
    never written. Of a sequence the first `max_q` queries are computed: without
    it, and without `place_q`, as many as q has room for.

    `blocks [m, n]` says which blocks of n keys a block of m queries may see. It
    takes (index b, h, block of queries, t) and yields four indices: how many
    blocks `mask_mod` has to look at and entry t of their list, and how many are
    visible as a whole and entry t of theirs. Keys of other blocks are not
    visible. What the lists promise, and nobody checks: entries ascend, no block
    is in both lists, and of a block in the second `mask_mod` keeps all keys that
    there are. A number of entries below 0 counts as 0, more than there are
    blocks as that, and a number that is no block's in the first list as none.
    Lists that break the promise give wrong results; whatever they hold, nothing
    outside the operands is read.

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

    C1. q, k, v and o have rank 4, lse and max_logits rank 3; with `place_q` or `place_k` they
        have one dimension for every index it yields, and q, k, v and o the last
        one.
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
    C16. lengths has the argument (index) and yields (index, index).
    C17. a place has arguments (index, index, index) and yields indices, at
        least two; the last but one is the head that it takes.
    C18. a place comes with lengths, of a region or of mods, without
        `transposed_v`, and scales beside it are for whole sequences.
    C19. sinks have rank 1, elements of f32 and the extent of the query heads.
    C20. a constant number of splits is at least 0.
    C21. static extents of operands and results are at most 2^30, and so is the
        number of blocks of 64 queries in all batches and heads: kernels count in
        32 bits.
    C22. of math the regions may have what docs/ScoreCode.md lists, on floats of
        at most 32 bits.
    C23. the scale is a value or a number, not both.
    C24. `blocks` has arguments (index, index, index, index) and yields four
        indices; its queries are a positive multiple of 64, its keys of 16, both
        at most 2^20.
    C25. there is one `blocks`, of a region or of mods by queries, and no
        `splits` beside it.
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
                       Variadic<AnyRankedTensor>:$scales, Optional<Index>:$maxQ, Optional<Index>:$splits,
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
                       OptionalAttr<DenseI64ArrayAttr>:$blockSizes,
                       OptionalAttr<I64Attr>:$group,
                       OptionalAttr<F32Attr>:$keptScale);
  let results = (outs AnyRankedTensor:$o, Optional<AnyRankedTensor>:$lse,
                      Optional<AnyRankedTensor>:$plain,
                      Optional<AnyRankedTensor>:$maxLogits);
  let regions = (region MaxSizedRegion<1>:$scoreMod, MaxSizedRegion<1>:$maskMod,
                        MaxSizedRegion<1>:$lengthsRegion, MaxSizedRegion<1>:$placeQRegion,
                        MaxSizedRegion<1>:$placeKRegion, MaxSizedRegion<1>:$blocksRegion,
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
    /// Lists by blocks of keys are for gradients.
    ::mlir::Region *findBlocksRegion(Sequence by) {
      return by == Sequence::query ? &getBlocksRegion() : nullptr;
    }
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
    fp32, p and dx are rounded to the element type. The order of the sums of dq
    may differ from run to run: `attention-to-tile` keeps it with
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

    `lengths`, `place_q`, `place_k` and `max_q` are those of the forward: q, o, do
    and dq have their rows where `place_q` says, lse and dlse theirs, k, v, dk and
    dv where `place_k` says. Sums over i are over the first `max_q` queries of a
    sequence. Rows of dq, dk and dv that are no row of a sequence are never
    written, rows of lse and dlse that are none never looked at. No two keys have
    the same place: `place_k` yields b itself, or, as `packed` does, rows from an
    element of a rank-1 operand on that say where each sequence starts.

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

    `blocks [m, n]` is that of the forward. `blocks_by_key` says the same the
    other way round: it takes (index b, h, block of keys, t), where h is a query
    head, and yields how many blocks of queries `mask_mod` has to look at beside
    this block of keys and entry t of their list, and how many see it as a whole
    and entry t of theirs. It promises what `blocks` does, and that a pair of
    blocks which is in a list of one is in that list of the other.

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
    C18. lengths has the argument (index) and yields (index, index).
    C19. a place has arguments (index, index, index) and yields indices, at
        least two; the last but one is the head that it takes.
    C20. a place comes with lengths, of a region or of mods.
    C21. there are no lengths beside a number of grad_aux whose operand `epilogue`
        does not read.
    C22. keep_mod has arguments (index, index, index, index) and yields i1.
    C23. `kept_scale` is positive, a normal number of f32, and beside `keep_mod`.
    C24. `blocks` and `blocks_by_key` have arguments (index, index, index, index)
        and yield four indices; their queries are a positive multiple of 64, their
        keys of 16, both at most 2^20.
    C25. there is one of each, of a region or of mods, with blocks of one size, or
        none of both.
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
                       Optional<Index>:$maxQ,
                       OptionalAttr<DenseI64ArrayAttr>:$gradAux,
                       DefaultValuedAttr<Attention_Layout, "::fa3::attention::Layout::bhsd">:$layout,
                       OptionalAttr<ArrayAttr>:$mods,
                       OptionalAttr<F32Attr>:$keptScale,
                       OptionalAttr<DenseI64ArrayAttr>:$blockSizes,
                       OptionalAttr<I64Attr>:$group);
  let results = (outs AnyRankedTensor:$dq, AnyRankedTensor:$dk, AnyRankedTensor:$dv,
                      Variadic<AnyRankedTensor>:$auxGrads);
  let regions = (region MaxSizedRegion<1>:$scoreMod,
                        MaxSizedRegion<1>:$scoreGradRegion,
                        MaxSizedRegion<1>:$maskMod,
                        MaxSizedRegion<1>:$lengthsRegion,
                        MaxSizedRegion<1>:$placeQRegion,
                        MaxSizedRegion<1>:$placeKRegion,
                        MaxSizedRegion<1>:$keepMod,
                        MaxSizedRegion<1>:$blocksRegion,
                        MaxSizedRegion<1>:$blocksByKeyRegion,
                        MaxSizedRegion<1>:$epilogue,
                        MaxSizedRegion<1>:$epilogueGradRegion);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::SmallVector<Role> getRoles();
    ::mlir::Region *findBlocksRegion(Sequence by) {
      return by == Sequence::query ? &getBlocksRegion() : &getBlocksByKeyRegion();
    }
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

def Attention_QuantizeOp : Attention_Op<"quantize", [Pure]> {
  let summary = "8-bit numbers and the scales in whose units they are";
  let description = [{
    Every element x becomes the 8-bit number nearest to x / scale, ties to even,
    where scale is the largest |x| of those that share it, divided by the
    largest number of the format: 448 for f8E4M3FN, 57344 for f8E5M2, 127 for i8.
    i8 has even steps, which err less where elements are of one magnitude, as
    after a rotation, and more where few of them set the scale. No scale is
    below 2^-64, so that zeros have one too:
    ```
    scale = max(2^-64, max |x| * (1 / largest))
    values = round(x * (1 / scale))
    ```
    in f32; a kernel's last reciprocal may be one unit in the last place off. A
    NaN has no part in the maximum and stays a NaN, or becomes 0 with i8; an
    infinity makes its scale infinite, zeros of the others and a NaN of itself.

    `rows` and the extents of the scales say who shares one, as in
    `attention.forward`: 0, the default, a whole sequence, 1 nobody, others a
    block of that many rows; and an extent of 1 all batches or all heads. Scales
    have the order (batch, head, block), the source that of `layout`.

    With `terms` 2 an element is a sum of two 8-bit numbers: the second one, d
    columns behind, is the nearest to what rounding left of x / scale. A float
    has twice the digits then, down to the least number of the format.

    With `rotate` a row of x is first multiplied by a d x d matrix:
    ```
    x'[i, c] = (sum_e x[i, e] * matrix[e, c]) / sqrt(d)
    ```
    A Hadamard matrix with random signs of its rows spreads outliers over the
    head dim (FlashAttention-3, arXiv 2407.08608, section 3.3). It is sqrt(d)
    times an orthogonal matrix, so that scores do not change if q and k are
    rotated alike. Its elements are 1 and -1: products are exact, sums are in
    f32. Given d numbers, the matrix is the Hadamard matrix of order d, row e
    negated where number e is negative: the Kronecker product of the Paley
    matrix of order 1, 12 or 20 and the Sylvester matrix of a power of two. A
    d x d tensor is the matrix itself.

    Example:
    ```mlir
    %q8, %qs = attention.quantize %q rotate %signs : tensor<64xf16> rows 128
      : tensor<2x8x?x64xf16> -> tensor<2x8x?x64xf8E4M3FN>, tensor<2x8x?xf32>
    ```

    C1. the source has rank 4 and elements of f16, bf16 or f32; its last extent
        is a static multiple of 16 up to 256.
    C2. the values have elements of f8E4M3FN, f8E5M2 or i8 and the shape of the
        source, with `terms` times its last extent.
    C3. the scales have rank 3 and are f32; the first two extents are 1 or those
        of batch and heads, the last is the number of blocks: 1 for `rows` 0.
    C4. `rows` is at least 0.
    C5. `rotate` takes d floats, where d is 1, 12 or 20 times a power of two, or
        d x d in the element type of the source; that is f16 or bf16.
    C6. `terms` is 1, or 2 with values of f8E4M3FN or f8E5M2.
    C7. static extents are at most 2^30.
  }];
  let arguments = (ins AnyRankedTensor:$source, Optional<AnyRankedTensor>:$rotation,
                       DefaultValuedAttr<I64Attr, "0">:$rows,
                       DefaultValuedAttr<I64Attr, "1">:$terms,
                       DefaultValuedAttr<Attention_Layout, "::fa3::attention::Layout::bhsd">:$layout);
  let results = (outs AnyRankedTensor:$values, AnyRankedTensor:$scales);
  let assemblyFormat = [{
    $source (`rotate` $rotation^ `:` type($rotation))? (`rows` $rows^)? (`terms` $terms^)?
    (`layout` $layout^)? attr-dict `:` type($source) `->` type($values) `,` type($scales)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Positions of the dimensions in the source.
    int64_t getHeadAxis() { return getLayout() == Layout::bhsd ? 1 : 2; }
    int64_t getSequenceAxis() { return getLayout() == Layout::bhsd ? 2 : 1; }
    int64_t getHeadDim() {
      return ::llvm::cast<::mlir::RankedTensorType>(getSource().getType()).getDimSize(3);
    }
    /// The 8-bit format.
    ::mlir::Type getFormat() {
      return ::llvm::cast<::mlir::RankedTensorType>(getValues().getType()).getElementType();
    }
  }];
}

def Attention_LengthOp : Attention_Op<"length", [Pure]> {
  let summary = "number of queries or keys of the sequence at hand";
  let description = [{
    For use in the regions of `attention.forward`, `attention.backward` and
    `attention.list_blocks`.

    Example: `%sk = attention.length key`

    C1. lies in a region of `attention.forward`, `attention.backward` or
        `attention.list_blocks`.
  }];
  let arguments = (ins Attention_Sequence:$sequence);
  let results = (outs Index:$result);
  let assemblyFormat = "$sequence attr-dict";
  let hasVerifier = 1;
}

def Attention_HeadsOp : Attention_Op<"heads", [Pure]> {
  let summary = "number of query heads";
  let description = [{
    For use in `keep_mod`, to number the rows of all batches and heads.

    Example: `%heads = attention.heads`

    C1. lies in `keep_mod` of `attention.forward` or `attention.backward`.
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Attention_YieldOp : Attention_Op<"yield", [
    Pure, Terminator, ParentOneOf<["ForwardOp", "BackwardOp", "AppendOp",
                                   "ListBlocksOp"]>]> {
  let summary = "results of a region of attention";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
  let extraClassDeclaration = [{
    /// Of a region with one result.
    ::mlir::Value getValue() { return getValues().front(); }
    ::mlir::OpOperand &getValueMutable() { return (*this)->getOpOperand(0); }
  }];
}

include "fa3/Dialect/Attention/IR/AttentionBlocksOp.td"
include "fa3/Dialect/Attention/IR/AttentionCacheOps.td"
include "fa3/Dialect/Attention/IR/AttentionMergeOp.td"

#endif // FA3_ATTENTION_OPS
