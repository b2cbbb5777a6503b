//===- AttentionInterfaces.td - modifications of scores ----*- tablegen -*-===//

#ifndef FA3_ATTENTION_INTERFACES
#define FA3_ATTENTION_INTERFACES

include "mlir/IR/OpBase.td"

def Attention_ModAttrInterface : AttrInterface<"ModAttrInterface"> {
  let cppNamespace = "::fa3::attention";
  let description = [{
    A named modification of attention that expands to code in the `score_mod` or
    `mask_mod` region. `attention-expand-mods` asks for that code; nothing after it
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
  ];
}

#endif // FA3_ATTENTION_INTERFACES
