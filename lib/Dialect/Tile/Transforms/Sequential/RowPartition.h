//===- RowPartition.h - tiles of different heights --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// How the rows of a grid are cut into tiles: even ones, or full tiles and then
// shorter ones, so that the last round of a launch has no idle SMs.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_ROWPARTITION_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_ROWPARTITION_H

#include "GridPlan.h"
#include "fa3/Dialect/Tile/IR/Tile.h"

namespace fa3::tile {

/// The rows of a grid in which all stores end at their tile's end of rows.
/// Nothing where extents are unknown or the kernel has no products, whose rows
/// replicas divide.
std::optional<RowFacts> getRowFacts(GridOp grid);

/// Cuts the rows as the plan says, of a grid that has these facts.
void applyRows(GridOp grid, const GridPlan &plan, const RowFacts &facts);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_ROWPARTITION_H
