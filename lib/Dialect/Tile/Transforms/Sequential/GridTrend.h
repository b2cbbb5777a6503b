//===- GridTrend.h - how work changes along a grid --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_GRIDTREND_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_GRIDTREND_H

#include "fa3/Dialect/Tile/IR/Tile.h"

namespace fa3::tile {

/// Whether the steps of the loops in a grid become fewer, for certain, as its
/// first index grows: no loop has more, some have fewer.
bool workFallsWithFirstIndex(GridOp grid);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_GRIDTREND_H
