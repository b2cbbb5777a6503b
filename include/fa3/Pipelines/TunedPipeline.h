//===- TunedPipeline.h - options of the pipeline from a table ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_PIPELINES_TUNEDPIPELINE_H
#define FA3_PIPELINES_TUNEDPIPELINE_H

#include "fa3/Pipelines/Pipelines.h"
#include "fa3/Tuning/Table.h"

namespace fa3 {

/// What is wrong with the options of an entry: not `name=value`, a name that is
/// no option which changes time only, a value that does not parse.
std::optional<std::string> validateTunedOptions(llvm::StringRef options);

/// Reads what the option tuning-table names: a file, or the shipped table if it
/// is empty. An empty table for `none`. Errors are diagnostics.
mlir::FailureOr<tuning::Table> readTuningTable(mlir::MLIRContext *context,
                                               llvm::StringRef name);

/// Sets the options that the table has for the attention of a module, except
/// those that were given.
mlir::LogicalResult applyTuning(mlir::ModuleOp module,
                                PipelineOptions &options);

/// One of the kernels that a function has for different numbers of keys.
struct Variant {
  /// It is for fewer keys than this; 0 for the last one, for any number.
  int64_t below = 0;
  /// The options that it is compiled with; they name no table.
  std::unique_ptr<PipelineOptions> options;
};

/// The kernels that a module gets by the table, from the one for the fewest
/// keys on. More than one only if the module is one function with
/// attention.forward whose number of keys is not known; an entry whose options
/// for the passes after hopper, which run on all kernels at once, are others
/// than those of the last entry is left out. Errors are diagnostics.
mlir::FailureOr<llvm::SmallVector<Variant>>
planVariants(mlir::ModuleOp module, const PipelineOptions &options);

/// Whether applyTuning may change anything.
bool isTuned(const PipelineOptions &options);

/// The whole pipeline as one pass, which looks at the module first.
///
/// With `verifiesParts` it is for a pass manager that does not verify, and
/// verifies after each pass by itself, but not between the conversions of
/// finished kernels to LLVM: what comes out is left to the caller.
std::unique_ptr<mlir::Pass> createLowerTuned(const PipelineOptions &options,
                                             bool verifiesParts = false);

} // namespace fa3

#endif // FA3_PIPELINES_TUNEDPIPELINE_H
