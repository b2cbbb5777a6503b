//===- AttentionToTile.h - attention-to-tile --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_CONVERSION_ATTENTIONTOTILE_ATTENTIONTOTILE_H
#define FA3_CONVERSION_ATTENTIONTOTILE_ATTENTIONTOTILE_H

#include "fa3/Options/Options.h"
#include "fa3/Tuning/BackwardPlan.h"
#include "fa3/Tuning/ForwardPlan.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace fa3 {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "fa3/Conversion/AttentionToTile/Passes.h.inc"

/// The plans of a function: of its forward, its backward, or both.
struct PlannedFunction {
  std::string name;
  std::optional<ForwardPlan> forward;
  std::optional<BackwardPlan> backward;
};

/// What the pass would build of each function of `module`, which gets a host
/// function for each and is of no use afterwards. Errors are diagnostics.
mlir::FailureOr<llvm::SmallVector<PlannedFunction, 1>>
planFunctions(mlir::ModuleOp module, const AttentionToTileOptions &options);

} // namespace fa3

#endif // FA3_CONVERSION_ATTENTIONTOTILE_ATTENTIONTOTILE_H
