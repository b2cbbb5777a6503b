//===- CloneScalars.h - a scalar computed elsewhere -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_SUPPORT_CLONESCALARS_H
#define FA3_SUPPORT_CLONESCALARS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fa3 {

/// What becomes of a scalar's arguments and operations where it is copied to.
struct ScalarCopies {
  /// The value that stands for an argument of a block.
  llvm::function_ref<mlir::Value(mlir::BlockArgument)> argument;
  /// Copies an operation whose operands are mapped, and fails, after an error,
  /// if it cannot be copied; null to clone all.
  llvm::function_ref<mlir::FailureOr<mlir::Operation *>(mlir::Operation *)>
      operation = nullptr;
};

/// Copies what computes a scalar to where the builder inserts, unless `mapping`
/// has it, and completes `mapping`.
mlir::FailureOr<mlir::Value> cloneScalars(mlir::OpBuilder &builder,
                                          mlir::Value value,
                                          mlir::IRMapping &mapping,
                                          const ScalarCopies &copies);

} // namespace fa3

#endif // FA3_SUPPORT_CLONESCALARS_H
