//===- GridSharing.h - tiles that several grid positions load ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_GRIDSHARING_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_GRIDSHARING_H

#include "fa3/Dialect/Tile/Analysis/ElementLoads.h"
#include "fa3/Dialect/Tile/IR/Tile.h"

namespace fa3::tile {

/// The indices of the grid: the first one, then the others, with those in front
/// on which the place of a loaded tile does not depend: tiles that share it are
/// then worked on at the same time. Behind them those that tiles that threads
/// read may turn out to share, last ones (the batch) first.
llvm::SmallVector<unsigned> orderIndices(GridOp grid, LoadPolicy loads);

/// An array of which tiles with other first indices of a grid read other parts,
/// and tiles that differ in some other index alone the same ones: always, or if
/// the launch gives a dimension a stride of zero.
struct SharedRows {
  mlir::Value array;
  /// Dimensions that do not hang on indices of the grid but the first.
  llvm::SmallVector<int64_t> part;
  /// The dimension whose stride decides.
  std::optional<int64_t> stride;
};

/// What element code of tiles that differ in `index` alone shares, if there is
/// such an array and its part is not known to fit the L2 cache.
std::optional<SharedRows> findSharedRows(GridOp grid, unsigned index,
                                         LoadPolicy loads, int64_t l2Bytes);

/// How many values of an index with that bound run faster than the first
/// index: all, if what they share does not fit the L2 cache, so that it would
/// come from memory for each; else one. On the host.
mlir::Value computeFront(mlir::ImplicitLocOpBuilder &b, const SharedRows &rows,
                         mlir::Value bound, int64_t l2Bytes);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_GRIDSHARING_H
