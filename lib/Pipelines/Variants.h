//===- Variants.h - several kernels of one function -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_PIPELINES_VARIANTS_H
#define FA3_LIB_PIPELINES_VARIANTS_H

#include "fa3/Pipelines/TunedPipeline.h"

namespace fa3 {

/// Sets the options of an entry, if there is one, except those that were given.
mlir::LogicalResult applyEntry(const tuning::Entry *entry,
                               PipelineOptions &options);

/// Lowers each of several variants of the function of a module and merges them.
/// `run` runs passes on the module or on one in it.
mlir::LogicalResult
lowerVariants(mlir::ModuleOp module, llvm::ArrayRef<Variant> variants,
              llvm::function_ref<mlir::LogicalResult(mlir::OpPassManager &,
                                                     mlir::ModuleOp)>
                  run);

} // namespace fa3

#endif // FA3_LIB_PIPELINES_VARIANTS_H
