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

/// Whether applyTuning may change anything.
bool isTuned(const PipelineOptions &options);

/// The whole pipeline as one pass, which looks at the module first.
std::unique_ptr<mlir::Pass> createLowerTuned(const PipelineOptions &options);

} // namespace fa3

#endif // FA3_PIPELINES_TUNEDPIPELINE_H
