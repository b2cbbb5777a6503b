//===- Passes.td - attention-to-tile -----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_CONVERSION_ATTENTIONTOTILE_PASSES
#define FA3_CONVERSION_ATTENTIONTOTILE_PASSES

include "mlir/Pass/PassBase.td"
include "fa3/Options/Options.td"

def AttentionToTile : Pass<"attention-to-tile", "::mlir::ModuleOp"> {
  let summary = "functions with attention -> host functions and tiled kernels";
  let description = [{
    Input: functions on tensors whose `attention.forward` or `attention.backward`
    have no `mods` left, take function arguments, or results of `attention.quantize`,
    `attention.rotary` or `attention.append` of arguments, and give function
    results; or these alone; or one `attention.merge` of arguments.

    Output: for each function a host function on memrefs (results become trailing
    arguments) that states the launch contract, and a `gpu.module` with one
    kernel per attention: a `tile.grid` over (query blocks, heads, batch), a loop
    over key blocks from the last to the first, and in it one step of online
    softmax (FlashAttention-2, arXiv 2307.08691, section 3.1), guarded by
    `tile.any_possible` of the mask_mod region. The score_mod and mask_mod regions become
    elementwise code on tiles, each value at the lowest rank that it needs.

    `attention.merge` becomes the kernel that merges the parts of a forward with
    `splits`: tiles of 64 rows and 32 columns, and a loop over parts. Where the
    number of heads is static, heads that are a power of two are rows of a tile.

    Fails on operands that are not function arguments, on results that are not
    returned, and on a `memref.dim` of a dimension that is not there, of which the
    canonicalization that follows would die. Auxiliary operands read at indices
    that are neither uniform nor (query, key) in the last dimensions are read
    element by element (`tile.gather`), with a remark.

    [Notes](PassNotes.md#attention-to-tile) say more.

    Example, without masks, types and the end of the softmax:
    ```mlir
    tile.grid (%m, %h, %b) in (%tiles, %heads, %batch) {
      %q = tile.load %Q[%b, %h, %i0, %c0]
      %r:3 = scf.for %t = %c0 to %blocks step %c1 iter_args(%acc = %zero, %m = %lowest, %l = %none) {
        %k = tile.load %K[...]   %v = tile.load %V[...]
        %s = tile.dot %q, %k, %zero lhs mk rhs nk
        %n = tile.reduce max %s init %m dim 1
        ... %p = exp2(%s * c - %n * c)   %l1 = %l * a + sum of %p   %acc1 = %acc * a ...
        %o = tile.dot %p, %v, %acc1 lhs mk rhs kn
        scf.yield %o, %n, %l1
      }
    }
    ```
  }];
  let dependentDialects = [
    "::fa3::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::gpu::GPUDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
  let options = [
    Option_BlockM, Option_BlockN, Option_Rescale, Option_RescaleThreshold,
    Option_Loads, Option_TwoLevel, Option_TwoLevelSteps, Option_PackGqa,
    Option_PartKeys, Option_LastBlock, Option_LastKeys, Option_BackwardForm,
    Option_Deterministic, Option_Stages,
    Option<"endRows", "end-rows", "bool", "false",
           "state where the rows of a tile end">
  ];
  let statistics = [
    Statistic<"kernels", "kernels", "attention operations turned into kernels">,
    Statistic<"packed", "packed", "kernels whose rows are the heads of a group">,
    Statistic<"quantizeKernels", "quantize-kernels",
              "kernels of attention.quantize">,
    Statistic<"listKernels", "list-kernels",
              "kernels of attention.list_blocks">
  ];
}

#endif // FA3_CONVERSION_ATTENTIONTOTILE_PASSES
