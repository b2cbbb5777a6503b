//===- ElementLoads.h - who loads tiles for element code --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Tiles that element code uses in a loop can come through shared memory, by
// bulk copies, or be read by the threads that use them. Analysis only.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_TILE_ANALYSIS_ELEMENTLOADS_H
#define FA3_DIALECT_TILE_ANALYSIS_ELEMENTLOADS_H

#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Options/Options.h"
#include <optional>

namespace fa3::tile {

/// Bulk: always by bulk copies. Auto: where static extents say that rows fill
/// whole units of a bulk copy.
using LoadPolicy = options::Loads;

/// Whether the policy has tiles of this array, a tensor or memref, copied in
/// bulk as far as its last extent goes.
bool allowsBulk(mlir::ShapedType array, LoadPolicy policy);

/// A bulk copy (TMA) takes tiles of rank 2 from arrays of rank up to 5 whose
/// last dimension is contiguous.
bool isBulkCopy(LoadOp load);

/// Whether the tile is used by element code only.
bool isElementLoad(LoadOp load);

/// Whether the load is one of rank 1 that somebody has given the role to load:
/// numbers of columns, whose rows in memory fill whole units of a bulk copy.
bool isBulkRowLoad(LoadOp load);

/// Whether the rows of a tile fill whole units of shared memory: element code
/// knows no padding.
bool hasWholeRows(LoadOp load);

/// Whether somebody has given the load to the threads that use it: there are
/// few rows in a tile, or few steps in its loop.
bool isThreadLoad(LoadOp load);

/// Whether the load is one for element code that comes in bulk.
inline bool isBulkElementLoad(LoadOp load, LoadPolicy policy) {
  if (isThreadLoad(load))
    return false;
  return (policy != LoadPolicy::Threads && isBulkRowLoad(load)) ||
         (isBulkCopy(load) && isElementLoad(load) && hasWholeRows(load) &&
          allowsBulk(mlir::cast<mlir::ShapedType>(load.getSource().getType()),
                     policy));
}

} // namespace fa3::tile

#endif // FA3_DIALECT_TILE_ANALYSIS_ELEMENTLOADS_H
