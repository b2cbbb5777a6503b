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
    InterfaceMethod<
      "Emits whether a weight counts in the output (i1), null where all do.",
      "::mlir::Value", "buildKeepMod",
      (ins "::mlir::ImplicitLocOpBuilder &":$builder,
           "const ::fa3::attention::ModContext &":$context),
      "", "return {};">,
    InterfaceMethod<"Factor of the weights that `buildKeepMod` keeps.",
      "float", "getFactorOfKept", (ins), "", "return 1;">,
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
    InterfaceMethod<
      [{Whose lists those of `buildBlocks` are: of keys for each block of
        queries, or of queries for each block of keys.}],
      "::fa3::attention::Sequence", "getListedBy", (ins), "",
      "return ::fa3::attention::Sequence::query;">,
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
    `mask_mod` region makes visible: forward and backward. Sequences may have
    lengths of their own, and lie anywhere.
  }];
  let methods = [
    InterfaceMethod<"Queries, a tensor of rank 4 if they have no place.",
                    "::mlir::Value", "getQ">,
    InterfaceMethod<"Keys, a tensor of rank 4 if they have no place.",
                    "::mlir::Value", "getK">,
    InterfaceMethod<"Values, in a tensor like that of the keys.",
                    "::mlir::Value", "getV">,
    InterfaceMethod<"What its operands are, and behind them its results.",
                    "::llvm::SmallVector<::fa3::attention::Role>", "getRoles">,
    InterfaceMethod<"Tensors that the regions read.", "::mlir::OperandRange",
                    "getAux">,
    InterfaceMethod<"Scales of operands of 8 bits, none without.",
                    "::mlir::OperandRange", "getScales">,
    InterfaceMethod<"Rows that share one of them, 0 for all.", "int64_t",
                    "getScaleRows", (ins "unsigned":$operand)>,
    InterfaceMethod<"Factor of the scores, null for the default.",
                    "::mlir::Value", "getScale">,
    InterfaceMethod<"Order of the dimensions.", "::fa3::attention::Layout",
                    "getLayout">,
    InterfaceMethod<"Code that edits a score.", "::mlir::Region &",
                    "getScoreMod">,
    InterfaceMethod<"Code that says whether a key is visible.",
                    "::mlir::Region &", "getMaskMod">,
    InterfaceMethod<"Code that says whether a weight counts in the output.",
                    "::mlir::Region &", "getKeepMod">,
    InterfaceMethod<"Code that says what is stored in place of the output.",
                    "::mlir::Region &", "getEpilogue">,
    InterfaceMethod<"Factor of the weights that count, null for 1.",
                    "::mlir::FloatAttr", "getKeptScaleAttr">,
    InterfaceMethod<"Sets that factor.", "void", "setKeptScaleAttr",
                    (ins "::mlir::FloatAttr":$scale)>,
    InterfaceMethod<"Its `attention.sequences`, null for none.",
                    "::mlir::Value", "getSequences">,
    InterfaceMethod<"The operand that this is.", "::mlir::MutableOperandRange",
                    "getSequencesMutable">,
    InterfaceMethod<"Its `attention.blocks`, null for none.", "::mlir::Value",
                    "getBlocks">,
    InterfaceMethod<"The operand that this is.", "::mlir::MutableOperandRange",
                    "getBlocksMutable">,
    InterfaceMethod<
      [{All regions of its code, with those that are not its own: they come where
        kernels take what they capture. Some may be empty.}],
      "::llvm::SmallVector<::mlir::Region *>", "listCode">,
    InterfaceMethod<"One-line modifications, null for none.",
                    "::mlir::ArrayAttr", "getModsAttr">,
    InterfaceMethod<"Takes the modifications away.", "::mlir::Attribute",
                    "removeModsAttr">,
    InterfaceMethod<"Elements of a query and of a key.", "int64_t",
                    "getHeadDim">,
    InterfaceMethod<"Elements of a value.", "int64_t", "getValueHeadDim">,
    InterfaceMethod<"Whether it takes lists by blocks of keys, too.", "bool",
                    "takesListsByKey">,
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
    /// The same for `keep_mod`; weights that count get a further factor.
    void prependKeepMod(::fa3::attention::MaskModBuilder build, float factor) {
      ::fa3::attention::prependKeepMod($_op, build, factor);
    }
    /// Factor of the weights that count in the output.
    float getFactorOfKept() {
      ::mlir::FloatAttr scale = $_op.getKeptScaleAttr();
      return scale ? scale.getValue().convertToFloat() : 1;
    }
    /// Code that says how many queries and keys a sequence has, null for none.
    ::mlir::Region *findLengths() {
      return ::fa3::attention::findLengths($_op);
    }
    /// Code that says where a query, or a key, is; null for none.
    ::mlir::Region *findPlace(::fa3::attention::Sequence sequence) {
      return ::fa3::attention::findPlace($_op, sequence);
    }
    /// Code that lists blocks for each block of queries, or of keys; null for
    /// none, and where the operation takes no such lists.
    ::mlir::Region *findList(::fa3::attention::Sequence by) {
      return ::fa3::attention::findList($_op, by);
    }
    /// Bound of the queries of a sequence, null for none.
    ::mlir::Value getMaxQ() { return ::fa3::attention::getMaxQ($_op); }
    /// Whether rows of a sequence are elsewhere than at (b, h, i), after mods.
    bool hasPlace(::fa3::attention::Sequence sequence) {
      return ::fa3::attention::hasPlace($_op, sequence);
    }
    /// Whether sequences have lengths of their own, after mods.
    bool hasLengths() { return ::fa3::attention::hasLengths($_op); }
    /// Dimensions of q (of k) without the last, after mods.
    int64_t getPlaceRank(::fa3::attention::Sequence sequence) {
      return ::fa3::attention::getPlaceRank($_op, sequence);
    }
    /// Edits what `lengths`, or the place of a sequence, yields. Nothing changes
    /// when `build` gives back what it was given.
    void appendLengths(::fa3::attention::LengthsBuilder build) {
      ::fa3::attention::appendLengths($_op, build);
    }
    void appendPlace(::fa3::attention::Sequence sequence,
                     ::fa3::attention::PlaceBuilder build) {
      ::fa3::attention::appendPlace($_op, sequence, build);
    }
    /// Queries and keys of a listed block, after mods; none without lists.
    ::std::optional<std::pair<int64_t, int64_t>> getSizesOfBlocks() {
      return ::fa3::attention::getSizesOfBlocks($_op);
    }
    /// Gives the operation the lists that `build` emits.
    void addBlocks(::fa3::attention::Sequence by,
                   std::pair<int64_t, int64_t> sizes,
                   ::fa3::attention::ListsBuilder build) {
      ::fa3::attention::addBlocks($_op, by, sizes, build);
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
