//===- BackwardDelta.h - statistics of queries ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDDELTA_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDDELTA_H

#include "BackwardStep.h"

namespace fa3 {

/// What a forward gave, and gradients with respect to it.
struct DeltaInputs {
  mlir::Value o, lse;
  mlir::Value lseGrad; ///< null for none
  /// With respect to the edited output, which that with respect to o is made
  /// of; null without `epilogue`.
  mlir::Value editedGrad;
  /// What no key and value exceeds, of buildReach; null where sums of dq are of
  /// floats.
  mlir::Value reach;
};

/// Emits the `tile.grid` of the kernel that computes shift and delta of every
/// query, and zeroes the sums of dq if `operands` has them. It writes the
/// gradient with respect to o if that is not given. `unit` is that of shifts.
void buildDeltaBody(mlir::OpBuilder &builder, attention::BackwardOp op,
                    const BackwardOperands &operands, const DeltaInputs &inputs,
                    double unit);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDDELTA_H
