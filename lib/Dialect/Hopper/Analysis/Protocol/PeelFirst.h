//===- PeelFirst.h - loops whose iterations differ --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// "Not in the first iteration" decides how often something happens: a group may
// hand back the slot of the iteration before. Counting and exploration know
// conditions of the whole loop only, so they look at the first iteration and at
// the others apart.
// Loops of a few rounds are written out (Dialect/Warp/Analysis/Rounds.h), and
// what conditions choose are results of branches (BranchResults.h).
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PEELFIRST_H
#define FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PEELFIRST_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/OwningOpRef.h"

namespace fa3::hopper {

/// A copy of `function` in which no branch asks whether an iteration is the
/// first one of its loop, which has no loops of a few rounds, and in which no
/// number is chosen by the condition of a branch in front of it; null if that
/// is so already.
mlir::OwningOpRef<mlir::gpu::GPUFuncOp>
peelFirstIterations(mlir::gpu::GPUFuncOp function);

} // namespace fa3::hopper

#endif // FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PEELFIRST_H
