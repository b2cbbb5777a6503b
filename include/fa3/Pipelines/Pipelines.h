//===- Pipelines.h - named compositions of passes ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Each pipeline is a list of passes. Where an option is left open,
// `PipelineOptions::resolve` may choose by the others. With a tuning table the
// whole one is a pass that runs the list.
//===----------------------------------------------------------------------===//

#ifndef FA3_PIPELINES_PIPELINES_H
#define FA3_PIPELINES_PIPELINES_H

#include "fa3/Conversion/AttentionToTile/AttentionToTile.h"
#include "fa3/Options/Options.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include <optional>
#include <string>

namespace fa3 {

/// Options of the whole pipeline, from Options.td. A value of 0 lets the pass
/// choose.
struct PipelineOptions : public mlir::PassPipelineOptions<PipelineOptions> {
#define FA3_PIPELINE_OPTION(member, ...) FA3_OPTION_##member;
#include "fa3/Options/Options.h.inc"
  /// Whether tiles end with the rows of a sequence: no option, but what
  /// `resolve` makes of others.
  bool endRows = false;

  /// Decides by the other options what was left open and is no matter of one
  /// pass alone. Each pipeline does so; twice does not change more than once.
  void resolve();
};

/// The names of the pipelines, and of their options, in order.
llvm::SmallVector<llvm::StringRef> getPipelineNames();
llvm::ArrayRef<llvm::StringRef> getPipelineOptionNames();

/// What is wrong with the names, words and numbers in `name=value ..`, where a
/// library cannot leave it to the parser to print it; nothing if all are right.
std::optional<std::string> explainWrongOption(llvm::StringRef options);

/// attention on tensors -> sequential tile kernels.
void buildTilePipeline(mlir::OpPassManager &pm, const PipelineOptions &options);
/// sequential -> specialized, asynchronous groups.
void buildSpecializePipeline(mlir::OpPassManager &pm,
                             const PipelineOptions &options);
/// asynchronous -> software-pipelined.
void buildPipelinePipeline(mlir::OpPassManager &pm,
                           const PipelineOptions &options);
/// pipelined -> laid out.
void buildLayoutPipeline(mlir::OpPassManager &pm,
                         const PipelineOptions &options);

/// laid out -> hopper kernels with waits, fences, registers and offsets.
void buildHopperPipeline(mlir::OpPassManager &pm,
                         const PipelineOptions &options);
/// hopper kernels, ready to be launched -> llvm and nvvm operations.
void buildLLVMPipeline(mlir::OpPassManager &pm, const PipelineOptions &options);
/// The parts up to hopper kernels, in their order.
enum class Stage { Tile, Specialize, Pipeline, Layout, Hopper };
inline constexpr llvm::StringLiteral kStageNames[] = {
    "tile", "specialize", "pipeline", "layout", "hopper"};
/// attention on tensors, or tile kernels, -> the end of a stage: the pipelines
/// above one behind the other, without a tuning table.
void buildPipelineTo(Stage last, mlir::OpPassManager &pm,
                     const PipelineOptions &options);
/// laid out -> llvm and nvvm operations.
void buildPTXPipeline(mlir::OpPassManager &pm, const PipelineOptions &options);
/// The whole way: attention on tensors, or tile kernels, -> llvm and nvvm
/// operations and the launch contract. Of a program with other code only
/// attention changes, and every one has the options that a tuning table has for
/// it; without a table the parts run on the whole module, and what they clean
/// up is all of it.
void buildLowerToNVVMPipeline(mlir::OpPassManager &pm,
                              const PipelineOptions &options);

/// How attention-to-tile, with these options, tiles each function of a module,
/// which stays as it is. Errors are diagnostics.
mlir::FailureOr<llvm::SmallVector<PlannedFunction, 1>>
planFunctions(mlir::ModuleOp module, const PipelineOptions &options);

/// Whether kernels with these options may be lowered together from hopper on,
/// but for their passes on LLVM IR: what the pipeline from there on takes is
/// the same.
bool lowersAlike(const PipelineOptions &a, const PipelineOptions &b);

/// Registers the pipelines by name.
void registerPipelines();

} // namespace fa3

#endif // FA3_PIPELINES_PIPELINES_H
