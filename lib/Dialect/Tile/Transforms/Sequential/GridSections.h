//===- GridSections.h - parts of a grid that share the L2 cache -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_GRIDSECTIONS_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_GRIDSECTIONS_H

#include "fa3/Dialect/Tile/IR/Tile.h"

namespace fa3::tile {

/// An array that loops in a grid load from, the same part for all tiles that
/// differ only in the first grid index.
struct SharedArray {
  mlir::Value array;
  /// Bytes of it that one tile loads at most, if there is a bound for all
  /// tiles; tiles that follow each other load about the same ones. For packed
  /// sequences a guess.
  std::optional<int64_t> bytesOfTile;
};

llvm::SmallVector<SharedArray> getSharedArrays(GridOp grid);

/// Into how many sections of about the same size the outer indices (all but the
/// first of the grid) are cut, at most one index per section: as many that what
/// the tiles of a section load fits `l2Bytes` of cache, and, if `rounds` is not
/// 0 and some array is not loaded in bounded parts, that a section has about
/// `rounds` of the `tiles` for each SM. On the host.
mlir::Value computeSections(mlir::ImplicitLocOpBuilder &b,
                            llvm::ArrayRef<SharedArray> arrays,
                            mlir::Value outer, mlir::Value tiles,
                            int64_t l2Bytes, int64_t rounds);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_GRIDSECTIONS_H
