//===- AttentionAttrs.td - one-line modifications ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_ATTENTION_ATTRS
#define FA3_ATTENTION_ATTRS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "fa3/Dialect/Attention/IR/AttentionBase.td"
include "fa3/Dialect/Attention/IR/AttentionEnums.td"
include "fa3/Dialect/Attention/IR/AttentionInterfaces.td"


class Attention_Mod<string name, string mnem, list<string> methods>
    : AttrDef<Attention_Dialect, name,
              [DeclareAttrInterfaceMethods<Attention_ModAttrInterface, methods>]> {
  let mnemonic = mnem;
}

def Attention_AlignmentParameter
    : DefaultValuedParameter<"::fa3::attention::Alignment",
                             "::fa3::attention::Alignment::bottom_right">;

def Attention_CausalAttr : Attention_Mod<"Causal", "causal", ["buildMaskMod"]> {
  let summary = "key j is visible to query i iff j <= i + (sk - sq)";
  let description = [{
    Aligned at the bottom right: the last query sees all keys (FlashAttention
    since 2.1). With `align = top_left` the first query sees the first key only,
    j <= i (PyTorch's `is_causal`). `#attention.causal`,
    `#attention.causal<align = top_left>`.
  }];
  let parameters = (ins Attention_AlignmentParameter:$align);
  let builders = [AttrBuilder<(ins), [{
    return $_get($_ctxt, Alignment::bottom_right);
  }]>];
  let assemblyFormat = "(`<` struct(params)^ `>`)?";
}

def Attention_WindowAttr : Attention_Mod<"Window", "window", ["buildMaskMod"]> {
  let summary = "sliding window: i + off - left <= j <= i + off + right, off = sk - sq";
  let description = [{
    Both ends belong to the window; a missing end is unbounded. With
    `align = top_left` off is 0.
    `#attention.window<left = 1024, right = 0>`, `#attention.window<left = 128>`.

    C1. left and right are between 0 and 2^30.
  }];
  let parameters = (ins OptionalParameter<"std::optional<int64_t>">:$left,
                        OptionalParameter<"std::optional<int64_t>">:$right,
                        Attention_AlignmentParameter:$align);
  let builders = [AttrBuilder<(ins "std::optional<int64_t>":$left,
                                   "std::optional<int64_t>":$right), [{
    return $_get($_ctxt, left, right, Alignment::bottom_right);
  }]>];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Attention_PrefixAttr : Attention_Mod<"Prefix", "prefix", ["buildMaskMod"]> {
  let summary = "prefix LM: the first `length` keys are visible to all, the others causally";
  let description = [{
    `#attention.prefix<128>`.

    C1. length is between 0 and 2^30.
  }];
  let parameters = (ins "int64_t":$length);
  let assemblyFormat = "`<` $length `>`";
  let genVerifyDecl = 1;
}

def Attention_SoftcapAttr : Attention_Mod<"Softcap", "softcap", ["buildScoreMod"]> {
  let summary = "score = cap * tanh(score / cap)";
  let description = [{
    `#attention.softcap<50.0>`.

    C1. the cap is positive; it and its inverse are normal numbers of f32.
  }];
  let parameters = (ins "::mlir::FloatAttr":$cap);
  let builders = [AttrBuilder<(ins "double":$cap), [{
    return $_get($_ctxt, ::mlir::FloatAttr::get(::mlir::Float64Type::get($_ctxt), cap));
  }]>];
  let assemblyFormat = "`<` $cap `>`";
  let genVerifyDecl = 1;
}

def Attention_AlibiAttr : Attention_Mod<"Alibi", "alibi", ["verifyMod", "buildScoreMod"]> {
  let summary = "score - slope[h] * |i + off - j|, off = sk - sq";
  let description = [{
    `aux` is the number of the auxiliary operand that holds one f32 slope per
    query head (Press et al., "Train Short, Test Long", arXiv 2108.12409).
    `#attention.alibi<aux = 0>`.

    C1. aux is the number of an auxiliary operand of rank 1 and elements f32.
    C2. it has as many entries as there are query heads, where both are static.
  }];
  let parameters = (ins "int64_t":$aux);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Attention_BiasAttr : Attention_Mod<"Bias", "bias", ["verifyMod", "buildScoreMod"]> {
  let summary = "score + bias[b, h, i, j]";
  let description = [{
    `aux` is the number of the auxiliary operand. A dimension of static extent 1
    is broadcast; a dynamic one, but the last, may be broadcast by a stride of
    0. `#attention.bias<aux = 0>`.

    `attention-to-tile` reads the last dimensions as a tile and refuses a bias per
    query: a last extent of 1 beside queries that are not.

    C1. aux is the number of an auxiliary operand of rank 4 and elements f16,
        bf16 or f32.
    C2. its extents are those of batch, query heads, queries and keys or 1,
        where they are static.
  }];
  let parameters = (ins "int64_t":$aux);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Attention_DropoutAttr : Attention_Mod<"Dropout", "dropout", ["verifyMod", "buildKeepMod", "getFactorOfKept"]> {
  let summary = "weights are dropped with probability p, by FlashAttention-2's random numbers";
  let description = [{
    `aux` is the number of the auxiliary operand that holds seed and offset, two
    i64 (flash-attention's `rng_state`). A weight of batch b, head h, query i and
    key j is kept if a byte of Philox4x32-7 (Salmon et al., "Parallel Random
    Numbers: As Easy as 1, 2, 3") is at most floor((1 - p) * 255), and multiplied
    by 1 / (1 - p). The key of Philox is the seed; its counter, from the lowest
    word, is
    ```
    offset + (b * heads + h) * 32 + i mod 8 * 4 + j mod 8 div 2   (64 bits)
    i div 16
    j div 32
    ```
    and of its 16 bytes the number is j mod 32 div 8 * 4 + i mod 16 div 8 * 2 +
    j mod 2. The same seed and offset drop the same weights in forward and
    backward, and the same ones as in FlashAttention-2.
    `#attention.dropout<p = 0.1, aux = 0>`.

    C1. p is at least 0 and, in f32, less than 1.
    C2. aux is the number of an auxiliary operand of rank 1 and elements i64.
    C3. it has two entries, where their number is static.
  }];
  let parameters = (ins "::mlir::FloatAttr":$p, "int64_t":$aux);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

class Attention_PlaceMod<string name, string mnem, list<string> methods>
    : Attention_Mod<name, mnem, !listconcat(["verifyMod"], methods)> {
  let assemblyFormat = "`<` struct(params) `>`";
}

def Attention_UsedAttr : Attention_PlaceMod<"Used", "used", ["buildLengths", "hasLengths"]> {
  let summary = "sequences of a padded batch use used_q[b] queries and used_k[b] keys";
  let description = [{
    `q` and `k` are numbers of auxiliary operands; one that is missing leaves
    that sequence its extent. Padding is behind the rows in use. A number above
    the extent counts as the extent. `#attention.used<q = 0, k = 1>`,
    `#attention.used<k = 0>`.

    C1. each is the number of an auxiliary operand of rank 1 and elements i32,
        and there is one.
  }];
  let parameters = (ins OptionalParameter<"std::optional<int64_t>">:$q,
                        OptionalParameter<"std::optional<int64_t>">:$k);
}

def Attention_PackedAttr : Attention_PlaceMod<"Packed", "packed",
    ["buildLengths", "hasLengths", "buildPlace", "hasPlace", "getPlaceRank"]> {
  let summary = "sequences lie one behind the other: rows starts[b] to starts[b + 1]";
  let description = [{
    `q` and `k` are numbers of auxiliary operands that hold a start for every
    sequence and the end of the last one (cu_seqlens). The tensors of a packed
    sequence have no batch dimension: q and o are (head, row, element) with
    layout `bhsd` and (row, head, element) with `bshd`, lse is (head, row).
    Without `k` keys are padded, or placed by other mods.
    `#attention.packed<q = 0, k = 1>`.

    C1. each is the number of an auxiliary operand of rank 1 and elements i32,
        and there is one.
  }];
  let parameters = (ins OptionalParameter<"std::optional<int64_t>">:$q,
                        OptionalParameter<"std::optional<int64_t>">:$k);
}

def Attention_BatchIndexAttr : Attention_PlaceMod<"BatchIndex", "batch_index",
    ["buildPlace", "hasPlace"]> {
  let summary = "keys of sequence b are those of batch index[b]";
  let description = [{
    `aux` is the number of an auxiliary operand with a number of a batch of k and
    v for every sequence, as a cache has that holds more sequences than the batch
    at hand. `#attention.batch_index<aux = 0>`.

    C1. aux is the number of an auxiliary operand of rank 1 and elements i32.
  }];
  let parameters = (ins "int64_t":$aux);
}

def Attention_LeftPadAttr : Attention_PlaceMod<"LeftPad", "leftpad",
    ["buildLengths", "hasLengths", "buildPlace", "hasPlace"]> {
  let summary = "keys of sequence b start behind pad[b] rows";
  let description = [{
    The rows in front are not part of the sequence, whose keys become fewer.
    `aux` is the number of an auxiliary operand. `#attention.leftpad<aux = 0>`.

    C1. aux is the number of an auxiliary operand of rank 1 and elements i32.
  }];
  let parameters = (ins "int64_t":$aux);
}

def Attention_PagedAttr : Attention_PlaceMod<"Paged", "paged",
    ["buildLengths", "hasLengths", "buildPlace", "hasPlace"]> {
  let summary = "key j of sequence b is row j mod page of page table[b, j div page]";
  let description = [{
    k and v are (page, key head, row, element) with layout `bhsd` and (page, row,
    key head, element) with `bshd`. `table` is the number of an auxiliary operand
    that holds page numbers. A sequence has at most as many keys as a row of the
    table has pages for. Mods in front of this one say which keys those are,
    `#attention.used` how many. A number in the table that is no page's is one
    of zeros. `#attention.paged<table = 1>`.

    C1. table is the number of an auxiliary operand of rank 2 and elements i32.
    C2. the rows of a page are static.
  }];
  let parameters = (ins "int64_t":$table);
}

def Attention_BlocksAttr : Attention_Mod<"Blocks", "blocks",
    ["verifyMod", "buildBlocks", "getBlockSizes", "getListedBy"]> {
  let summary = "lists of the blocks of keys that each block of queries may see";
  let description = [{
    The four tensors of FlexAttention's BlockMask: `count` and `full_count` are
    (b, h, block of queries), `index` and `full_index` (b, h, block of queries,
    entry). A dimension of b or h of static extent 1 is for all of them. Of the
    first list `mask_mod` says which keys are visible, of the second all are and
    it is not asked; without `full_count` and `full_index` there is one list.
    See `blocks` of `attention.forward` for what lists promise.
    `#attention.blocks<count = 0, index = 1, full_count = 2, full_index = 3,
    queries = 128, keys = 128>`.

    With `by = key` the tensors are q_num_blocks and the others by blocks of keys,
    (b, h, block of keys) and (b, h, block of keys, entry), whose entries are
    blocks of queries. Gradients want lists of both kinds.

    C1. each is the number of an auxiliary operand of elements i32, rank 3 for
        counts and rank 4 for indices; counts and indices have equal extents of
        b, h and blocks of queries, where they are static.
    C2. `full_count` and `full_index` come together.
  }];
  let parameters = (ins "int64_t":$count, "int64_t":$index,
                        OptionalParameter<"std::optional<int64_t>">:$full_count,
                        OptionalParameter<"std::optional<int64_t>">:$full_index,
                        "int64_t":$queries, "int64_t":$keys,
                        DefaultValuedParameter<"::fa3::attention::Sequence",
                            "::fa3::attention::Sequence::query">:$by);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Attention_ChunkAttr : Attention_Mod<"Chunk", "chunk", ["buildMaskMod"]> {
  let summary = "keys of the query's chunk: (i + off) div size == j div size, off = sk - sq";
  let description = [{
    Together with `#attention.causal` it is the local attention of Llama 4.
    `#attention.chunk<8192>`.

    C1. size is between 1 and 2^30.
  }];
  let parameters = (ins "int64_t":$size);
  let assemblyFormat = "`<` $size `>`";
  let genVerifyDecl = 1;
}

def Attention_DilationAttr : Attention_Mod<"Dilation", "dilation", ["buildMaskMod"]> {
  let summary = "every step-th key: (i + off - j) mod step == 0, off = sk - sq";
  let description = [{
    `#attention.dilation<2>`.

    C1. step is between 1 and 2^30.
  }];
  let parameters = (ins "int64_t":$step);
  let assemblyFormat = "`<` $step `>`";
  let genVerifyDecl = 1;
}

def Attention_DocumentAttr : Attention_Mod<"Document", "document", ["verifyMod", "buildMaskMod"]> {
  let summary = "keys of the query's document: id[b, i + off] == id[b, j], off = sk - sq";
  let description = [{
    `aux` is the number of the auxiliary operand that holds an integer per batch
    and key: several documents one behind the other in one sequence.
    `#attention.document<aux = 0>`.

    C1. aux is the number of an auxiliary operand of rank 2 and integers.
    C2. its extents are those of batch, or 1, and keys, where they are static.
  }];
  let parameters = (ins "int64_t":$aux);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Attention_KeyLengthsAttr : Attention_Mod<"KeyLengths", "key_lengths", ["verifyMod", "buildMaskMod"]> {
  let summary = "the first keys of each batch: j < lengths[b]";
  let description = [{
    `aux` is the number of the auxiliary operand that holds an integer per
    batch: sequences of different lengths, filled up to one. Other mods go by
    the length of all; with `#attention.used` they go by that of the sequence.
    `#attention.key_lengths<aux = 0>`.

    C1. aux is the number of an auxiliary operand of rank 1 and integers.
    C2. its extent is that of batch, where both are static.
  }];
  let parameters = (ins "int64_t":$aux);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Attention_MaskAttr : Attention_Mod<"Mask", "mask", ["verifyMod", "buildMaskMod"]> {
  let summary = "keys of a mask in memory: mask[b, h, i, j] != 0";
  let description = [{
    `aux` is the number of the auxiliary operand. A dimension of static extent 1
    is broadcast, as that of `#attention.bias`, which is the additive form.
    `#attention.mask<aux = 0>`.

    C1. aux is the number of an auxiliary operand of rank 4 and integers, i1
        among them.
    C2. its extents are those of batch, query heads, queries and keys or 1,
        where they are static.
  }];
  let parameters = (ins "int64_t":$aux);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // FA3_ATTENTION_ATTRS
