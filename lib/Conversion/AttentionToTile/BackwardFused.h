//===- BackwardFused.h - scores once, dq added in memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The fused form: one kernel computes the scores of a block once, carries dk
// and dv in registers and adds what the block gives to dq to an array of fp32,
// which a kernel before it zeroes and one behind it converts.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARDFUSED_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARDFUSED_H

#include "BackwardTiles.h"
#include "mlir/IR/Builders.h"

namespace fa3 {

/// The kernel of all gradients, 128 keys a tile; none where its sums and
/// scores do not fit into registers, or dq cannot be divided among its warp
/// groups.
std::optional<BackwardPart> planFusedBackward(int64_t d, int64_t dv,
                                              const BackwardDemand &demand);

/// Whether that kernel, with those beside it, is faster than the split form, by
/// docs/experiments/backward-forms.md; where lengths are not known, in the mean
/// over those.
bool isFusedFaster(const BackwardPart &fused, bool isMasked,
                   std::optional<int64_t> queries, std::optional<int64_t> keys);

/// Emits zeroes into `rows` rows of `sums`, f32, from those on that `place`
/// says, without the element.
void buildZeroRows(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value sums, llvm::ArrayRef<mlir::Value> place,
                   int64_t rows);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_BACKWARDFUSED_H
