//===- SplitRows.h - divides the rows of a group over replicas --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_GROUPS_SPLITROWS_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_GROUPS_SPLITROWS_H

#include "fa3/Dialect/Tile/IR/Tile.h"

namespace fa3::tile {

/// Divides the tiles of a group that depend on the rows of its products among
/// the replicas of the group, which owns the rows [g * n, g * n + n).
llvm::LogicalResult splitRows(warp::GroupOp group);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_GROUPS_SPLITROWS_H
