//===- BackwardFused.h - scores once, dq added in memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The fused form: one kernel computes the scores of a block once, carries dk
// and dv in registers and adds what the block gives to dq to an array of fp32,
// which a kernel before it zeroes and one behind it converts.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDFUSED_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDFUSED_H

#include "BackwardStep.h"

namespace fa3 {

/// Emits zeroes into `rows` rows of `sums`, f32, from those on that `place`
/// says, without the element.
void buildZeroRows(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value sums, llvm::ArrayRef<mlir::Value> place,
                   int64_t rows);

/// Emits the `tile.grid` of the kernel that writes `dqSums` times `scale` to
/// dq, rounded.
void buildConvertedRows(mlir::OpBuilder &builder, attention::BackwardOp op,
                        const BackwardOperands &operands);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDFUSED_H
