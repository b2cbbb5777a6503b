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

/// Elements of the progress of a tile: more than there are replicas, in cache
/// lines of their own.
inline constexpr int64_t kProgressElements = 64;

/// Emits the progress of a line of tiles at the start, a share of it in each
/// tile of the `tile.grid` around, whose first index counts within the line.
void buildStartOfProgress(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value progress,
                          llvm::ArrayRef<mlir::Value> line);

/// Emits the `tile.grid` of the kernel that writes `dqSums` times `scale` to
/// dq, rounded.
void buildConvertedRows(mlir::OpBuilder &builder, attention::BackwardOp op,
                        const BackwardOperands &operands);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARD_BACKWARDFUSED_H
