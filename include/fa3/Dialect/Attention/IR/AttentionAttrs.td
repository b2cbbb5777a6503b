//===- AttentionAttrs.td - one-line modifications ----------*- tablegen -*-===//

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

def Attention_CausalAttr : Attention_Mod<"Causal", "causal", ["buildMaskMod"]> {
  let summary = "key j is visible to query i iff j <= i + (sk - sq)";
  let description = [{
    Aligned at the bottom right: the last query sees all keys (FlashAttention
    since 2.1). `#attention.causal`.
  }];
}

def Attention_WindowAttr : Attention_Mod<"Window", "window", ["buildMaskMod"]> {
  let summary = "sliding window: i + off - left <= j <= i + off + right, off = sk - sq";
  let description = [{
    Both ends belong to the window; a missing end is unbounded.
    `#attention.window<left = 1024, right = 0>`, `#attention.window<left = 128>`.

    C1. left and right are between 0 and 2^30.
  }];
  let parameters = (ins OptionalParameter<"std::optional<int64_t>">:$left,
                        OptionalParameter<"std::optional<int64_t>">:$right);
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

#endif // FA3_ATTENTION_ATTRS
