//===- Passes.td - convert-to-attention --------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_CONVERSION_CONVERTTOATTENTION_PASSES
#define FA3_CONVERSION_CONVERTTOATTENTION_PASSES

include "mlir/Pass/PassBase.td"

def ConvertToAttention : Pass<"convert-to-attention", "::mlir::ModuleOp"> {
  let summary = "attention of other projects -> attention.forward";
  let description = [{
    Finds attention in the operations of other projects and puts
    `attention.forward` in its place. Operations are told by their names and read
    through attributes, operands and the text of types, so they may be registered
    or not (`--allow-unregistered-dialect`); no library of these projects is
    linked. docs/Importing.md says how to get the text out of each project and
    what is converted.

    | operation | project |
    |---|---|
    | `iree_linalg_ext.attention` | IREE |
    | `tm_tensor.attention` | torch-mlir |
    | `torch.aten.scaled_dot_product_attention`, `torch.hop_flex_attention` | torch-mlir |
    | `stablehlo.custom_call` of `__cudnn$fmhaSoftmax`, `__cudnn$fmhaScaleBiasSoftmax` | JAX |
    | `onnx.Attention`; `onnx.Custom` of GroupQueryAttention; `torch.operator` of both | onnx-mlir, torch-mlir |
    | RotaryEmbedding and TensorScatter of ONNX: `attention.rotary`, `attention.append` | onnx-mlir, torch-mlir |
    | softmax between two contractions: `linalg`, `stablehlo`, `tosa`, `torch.aten` | all of them |

    The dimensions of operands and results are named and followed through
    transposes, broadcasts and collapsed or expanded shapes, whichever project
    wrote them. So keys that are repeated for a group of query heads are read
    once (GQA), and tensors in the order (batch, sequence, head, element) stay in
    it (`layout bshd`). The reshapes that remain are `tensor.expand_shape` and
    `tensor.collapse_shape`; orders that no layout has get a `linalg.transpose`.
    Operations that nothing uses any longer are erased if
    they are known to do nothing else.

    Scores are edited by the code that the other project has there: regions,
    functions of score and mask (`torch.hop_flex_attention`), and elementwise
    `linalg.generic` that computes a mask, all inlined. A float mask that is 0 or
    -inf by a condition becomes that condition, so that blocks without visible
    keys are skipped. Other masks are auxiliary operands, read where they are.
    A query that sees no key gives 0, as in torch; with IREE it is a NaN.

    [Notes](PassNotes.md#convert-to-attention) say more.

    Example:
    ```mlir
    %5 = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %dropout, %true, %none, %false) : ...
    // becomes
    %o = attention.forward %q, %k, %v mods [#attention.causal] : ...
    ```
  }];
  let dependentDialects = [
    "::fa3::attention::AttentionDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let options = [
    Option<"raise", "raise", "bool", "true",
           "also softmax between two contractions, named or written out">,
    Option<"signatures", "signatures", "bool", "true",
           "functions take builtin tensors for those of torch">,
    Option<"castTo", "cast", "::fa3::ImportCast", "::fa3::ImportCast::None",
           "what q, k and v of f32 are rounded to",
           [{::llvm::cl::values(
               clEnumValN(::fa3::ImportCast::None, "none",
                          "nothing: attention of f32 stays as it is"),
               clEnumValN(::fa3::ImportCast::F16, "f16", "f16"),
               clEnumValN(::fa3::ImportCast::BF16, "bf16", "bf16"))}]>
  ];
  let statistics = [
    Statistic<"converted", "converted", "operations turned into those of attention">,
    Statistic<"leftAlone", "left-alone", "operations that stay, with a remark">
  ];
}

#endif // FA3_CONVERSION_CONVERTTOATTENTION_PASSES
