//===- BranchResults.h - positions that a branch decides --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What a branch yields of values that were there before it is simplified to
// arithmetic on its condition, which exploration does not know: it takes one
// way or the other. So there these are results of the branch again.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_BRANCHRESULTS_H
#define FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_BRANCHRESULTS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fa3::hopper {

/// Whether there are numbers that only the condition of a branch chooses, which
/// the launch decides, and that are used behind the branch only.
bool hasBranchResults(mlir::gpu::GPUFuncOp function);

/// Makes them results of the branch.
void restoreBranchResults(mlir::gpu::GPUFuncOp function);

} // namespace fa3::hopper

#endif // FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_BRANCHRESULTS_H
