//===- AttentionInterfaces.td - modifications of scores ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_ATTENTION_INTERFACES
#define FA3_ATTENTION_INTERFACES

include "mlir/IR/Interfaces.td"
include "mlir/IR/OpBase.td"

def Attention_ModAttrInterface : AttrInterface<"ModAttrInterface"> {
  let cppNamespace = "::fa3::attention";
  let description = [{
    A named modification of attention that expands to code in its regions. `attention-expand-mods` asks for that code; nothing after it
    knows the names.
  }];
  let methods = [
    InterfaceMethod<
      "Checks the modification against the operation it is given to.",
      "::llvm::LogicalResult", "verifyMod", (ins "::mlir::Operation *":$op),
      "", "return ::mlir::success();">,
    InterfaceMethod<
      "Emits the edited score; gives `score` back where there is nothing to edit.",
      "::mlir::Value", "buildScoreMod",
      (ins "::mlir::ImplicitLocOpBuilder &":$builder,
           "const ::fa3::attention::ModContext &":$context,
           "::mlir::Value":$score),
      "", "return score;">,
    InterfaceMethod<
      "Emits the visibility condition (i1), null where all keys are visible.",
      "::mlir::Value", "buildMaskMod",
      (ins "::mlir::ImplicitLocOpBuilder &":$builder,
           "const ::fa3::attention::ModContext &":$context),
      "", "return {};">,
    InterfaceMethod<
      [{Emits the queries and keys of a sequence from what they were said to be;
        one that is null is not known.}],
      "std::pair<::mlir::Value, ::mlir::Value>", "buildLengths",
      (ins "::mlir::ImplicitLocOpBuilder &":$builder,
           "const ::fa3::attention::ModContext &":$context,
           "::mlir::Value":$queries, "::mlir::Value":$keys),
      "", "return {queries, keys};">,
    InterfaceMethod<
      "Emits the indices of a query or key from where it was said to be.",
      "::llvm::SmallVector<::mlir::Value>", "buildPlace",
      (ins "::mlir::ImplicitLocOpBuilder &":$builder,
           "const ::fa3::attention::ModContext &":$context,
           "::fa3::attention::Sequence":$sequence, "::mlir::ValueRange":$place),
      "", "return ::llvm::to_vector(place);">,
    InterfaceMethod<"Whether `buildLengths` says anything.",
      "bool", "hasLengths", (ins), "", "return false;">,
    InterfaceMethod<"Whether `buildPlace` says anything of the sequence.",
      "bool", "hasPlace", (ins "::fa3::attention::Sequence":$sequence),
      "", "return false;">,
    InterfaceMethod<
      [{Emits what the `blocks` region yields, for the block of queries
        `context.query` and the entry `context.key` of its lists; nothing
        without lists.}],
      "::llvm::SmallVector<::mlir::Value>", "buildBlocks",
      (ins "::mlir::ImplicitLocOpBuilder &":$builder,
           "const ::fa3::attention::ModContext &":$context),
      "", "return {};">,
    InterfaceMethod<"Queries and keys of a block of `buildBlocks`, if it says any.",
      "::std::optional<std::pair<int64_t, int64_t>>", "getBlockSizes",
      (ins), "", "return ::std::nullopt;">,
    InterfaceMethod<"How many of the `rank` indices of a place are left.",
      "int64_t", "getPlaceRank", (ins "::fa3::attention::Sequence":$sequence,
                                      "int64_t":$rank),
      "", "return rank;">,
  ];
}

def Attention_ScoredOpInterface : OpInterface<"ScoredOpInterface"> {
  let cppNamespace = "::fa3::attention";
  let description = [{
    Attention whose scores are edited by a `score_mod` region and whose keys a
    `mask_mod` region makes visible: forward and backward.
  }];
  let methods = [
    InterfaceMethod<"Queries, a tensor of rank 4.", "::mlir::Value", "getQ">,
    InterfaceMethod<"Keys, a tensor of rank 4.", "::mlir::Value", "getK">,
    InterfaceMethod<"Values, a tensor of rank 4.", "::mlir::Value", "getV">,
    InterfaceMethod<"Tensors that the regions read.", "::mlir::OperandRange",
                    "getAux">,
    InterfaceMethod<"Factor of the scores, null for the default.",
                    "::mlir::Value", "getScale">,
    InterfaceMethod<"Order of the dimensions.", "::fa3::attention::Layout",
                    "getLayout">,
    InterfaceMethod<"Code that edits a score.", "::mlir::Region &",
                    "getScoreMod">,
    InterfaceMethod<"Code that says whether a key is visible.",
                    "::mlir::Region &", "getMaskMod">,
    InterfaceMethod<"One-line modifications, null for none.",
                    "::mlir::ArrayAttr", "getModsAttr">,
    InterfaceMethod<"Takes the modifications away.", "::mlir::Attribute",
                    "removeModsAttr">,
    InterfaceMethod<"Elements of a query and of a key.", "int64_t",
                    "getHeadDim">,
    InterfaceMethod<"Elements of a value.", "int64_t", "getValueHeadDim">,
  ];
  let extraSharedClassDeclaration = [{
    /// Puts code in front of what `score_mod` does, which becomes an edit of its
    /// result. Nothing changes when `build` gives the score back.
    void prependScoreMod(::fa3::attention::ScoreModBuilder build) {
      ::fa3::attention::prependScoreMod($_op, build);
    }
    /// Puts a further condition in front of `mask_mod`; both must hold. Nothing
    /// changes when `build` gives null.
    void prependMaskMod(::fa3::attention::MaskModBuilder build) {
      ::fa3::attention::prependMaskMod($_op, build);
    }
    /// Positions of the dimensions in q, k, v and o that have no place.
    int64_t getHeadAxis() {
      return $_op.getLayout() == ::fa3::attention::Layout::bhsd ? 1 : 2;
    }
    int64_t getSequenceAxis() {
      return $_op.getLayout() == ::fa3::attention::Layout::bhsd ? 2 : 1;
    }
    /// The same in one of them, of any rank.
    int64_t getHeadAxisOf(::mlir::Value tensor) {
      return ::llvm::cast<::mlir::RankedTensorType>(tensor.getType()).getRank() -
             ($_op.getLayout() == ::fa3::attention::Layout::bhsd ? 3 : 2);
    }
    int64_t getSequenceAxisOf(::mlir::Value tensor) {
      return ::llvm::cast<::mlir::RankedTensorType>(tensor.getType()).getRank() -
             ($_op.getLayout() == ::fa3::attention::Layout::bhsd ? 2 : 3);
    }
  }];
}

def Attention_GradientOpInterface : OpInterface<"GradientOpInterface"> {
  let cppNamespace = "::fa3::attention";
  let description = [{
    An operation of score code that knows its derivative. Operations of other
    dialects get it as an external model (`registerGradientRules` has those of
    arith and math).
  }];
  let methods = [
    InterfaceMethod<[{
        Emits what each operand contributes to the gradient, given that of the
        only result: `gradient` times the derivative with respect to the
        operand. Null for an operand that has no gradient, as a condition. The
        contributions are linear in `gradient`.
      }],
      "::llvm::SmallVector<::mlir::Value>", "buildGradients",
      (ins "::mlir::ImplicitLocOpBuilder &":$builder,
           "::mlir::Value":$gradient)>,
  ];
}

#endif // FA3_ATTENTION_INTERFACES
