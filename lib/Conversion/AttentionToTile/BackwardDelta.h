//===- BackwardDelta.h - statistics of queries ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARDDELTA_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARDDELTA_H

#include "BackwardStep.h"

namespace fa3 {

/// Emits the `tile.grid` of the kernel that computes shift and delta of every
/// query, and zeroes the sums of dq if `operands` has them. `lseGrad` may be
/// null; `unit` is that of shifts.
void buildDeltaBody(mlir::OpBuilder &builder, attention::BackwardOp op,
                    const BackwardOperands &operands, mlir::Value o,
                    mlir::Value lse, mlir::Value lseGrad, double unit);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARDDELTA_H
