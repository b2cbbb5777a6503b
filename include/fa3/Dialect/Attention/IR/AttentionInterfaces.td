//===- AttentionInterfaces.td - modifications of scores ----*- tablegen -*-===//

#ifndef FA3_ATTENTION_INTERFACES
#define FA3_ATTENTION_INTERFACES

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
    InterfaceMethod<"How many of the `rank` indices of a place are left.",
      "int64_t", "getPlaceRank", (ins "::fa3::attention::Sequence":$sequence,
                                      "int64_t":$rank),
      "", "return rank;">,
  ];
}

#endif // FA3_ATTENTION_INTERFACES
