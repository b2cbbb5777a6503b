//===- OrderedOps.h - additions in one order --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The operations of TileOrderedOps.td.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_TILE_IR_ORDEREDOPS_H
#define FA3_DIALECT_TILE_IR_ORDEREDOPS_H

#include "fa3/Dialect/Tile/IR/Tile.h"

#define GET_OP_CLASSES
#include "fa3/Dialect/Tile/IR/TileOrderedOps.h.inc"

#include <limits>

namespace fa3::tile {

/// In front of the first tile of a line there is nobody to wait for; and the
/// element of a tile that has ended, behind all positions.
inline constexpr int32_t kFrontOfOrdered = std::numeric_limits<int32_t>::max();
inline constexpr int32_t kEndOfOrdered = kFrontOfOrdered - 1;

/// The array behind an ordered one; any other is itself.
inline mlir::Value getStoredArray(mlir::Value target) {
  if (auto ordered = target.getDefiningOp<OrderedOp>())
    return ordered.getSource();
  return target;
}

} // namespace fa3::tile

#endif // FA3_DIALECT_TILE_IR_ORDEREDOPS_H
