//===- AttentionOps.td - operations of attention -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_ATTENTION_OPS
#define FA3_ATTENTION_OPS

include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "fa3/Dialect/Attention/IR/AttentionAttrs.td"
include "fa3/Dialect/Attention/IR/AttentionCallOp.td"

class Attention_Op<string mnemonic, list<Trait> traits = []>
    : Op<Attention_Dialect, mnemonic, traits>;

include "fa3/Dialect/Attention/IR/AttentionSequenceOps.td"
include "fa3/Dialect/Attention/IR/AttentionForwardOp.td"
include "fa3/Dialect/Attention/IR/AttentionBackwardOp.td"
include "fa3/Dialect/Attention/IR/AttentionQuantizeOp.td"

def Attention_LengthOp : Attention_Op<"length", [Pure]> {
  let summary = "number of queries or keys of the sequence at hand";
  let description = [{
    For use in the regions of `attention.forward`, `attention.backward` and
    `attention.list_blocks`, and of `attention.sequences` and `attention.blocks`,
    where it is what q or k have room for.

    Example: `%sk = attention.length key`

    C1. lies in a region of one of these.
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
    Pure, Terminator, ParentOneOf<["ForwardOp", "BackwardOp", "SequencesOp",
                                   "BlocksOp", "ListBlocksOp"]>]> {
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
