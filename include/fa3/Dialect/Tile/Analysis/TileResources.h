//===- TileResources.h - units that tile operations occupy ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_DIALECT_TILE_ANALYSIS_TILERESOURCES_H
#define FA3_DIALECT_TILE_ANALYSIS_TILERESOURCES_H

#include "fa3/Dialect/Tile/IR/Tile.h"

namespace fa3::tile {

/// What one replica of a group asks of the multiprocessor when it executes an
/// operation, before layouts are known. In cycles; 0 for scalars.
struct ResourceUse {
  /// Issue slots of each warp.
  int64_t issue = 0;
  /// Occupied units.
  int64_t special = 0, tensor = 0;
  /// From the start until the result can be used.
  int64_t latency = 0;
};

/// By the types of the operation alone; figures are those of
/// fa3/Machine/Chip.h. `threads` hold the tiles.
ResourceUse getResourceUse(mlir::Operation *op, int64_t threads);

/// Whether the operands of a product in shared memory keep it busy for most of
/// the time that the tensor core takes: per step of 64 rows it reads 32 bytes
/// of each of the 64 rows and of `n` columns, 128 in a cycle, and takes n / 2
/// cycles.
bool isBoundByReads(DotAsyncOp dot);

} // namespace fa3::tile

#endif // FA3_DIALECT_TILE_ANALYSIS_TILERESOURCES_H
