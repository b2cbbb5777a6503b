//===- PartialSums.h - what becomes of partial sums -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_PARTIALSUMS_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_PARTIALSUMS_H

#include "fa3/Dialect/Tile/IR/Tile.h"
#include <optional>

namespace fa3::tile {

/// Whether every element of a row is the same.
bool isSameAlongRows(mlir::Value value);

/// The reductions that sum up partial sums along their columns in the end, if
/// all that is done with them on the way is linear and treats the columns of a
/// row alike: then neither their order nor how the sum is divided among them
/// matters. The same of partial maxima, and of maxima on the way.
std::optional<llvm::SmallVector<ReduceOp>> findTotals(ReduceOp partial);

/// Whether a total does nothing but divide, so that only the quotient counts.
bool onlyDivides(ReduceOp total);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_PARTIALSUMS_H
