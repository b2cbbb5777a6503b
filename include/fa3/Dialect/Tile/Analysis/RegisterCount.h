//===- RegisterCount.h - what consumers keep in registers -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_DIALECT_TILE_ANALYSIS_REGISTERCOUNT_H
#define FA3_DIALECT_TILE_ANALYSIS_REGISTERCOUNT_H

#include "fa3/Dialect/Tile/Analysis/ElementLoads.h"
#include "fa3/Machine/Chip.h"

namespace fa3::tile {

/// An estimate, before tiles have layouts and groups exist.
struct RegisterCount {
  /// Of a thread of a consumer warp group.
  int64_t registers = 0;
  /// Consumer warp groups, of 64 rows each.
  int64_t groups = 1;
  /// Whether threads load tiles element by element.
  bool loadsByThreads = false;
};

/// Counts results of products (those in loops, or those outside, whichever take
/// more), operands that are computed, numbers of columns,
/// and allowances for descriptors of long products and for other code.
/// `isKnown`: extents are constants. `hasEnds`: rows may end before their tile.
RegisterCount countRegisters(mlir::Operation *root, bool isKnown,
                             LoadPolicy loads, bool hasEnds);

/// Of a tile that repeats one number for each column.
int64_t countColumnRegisters(int64_t columns, const Chip &chip);

} // namespace fa3::tile

#endif // FA3_DIALECT_TILE_ANALYSIS_REGISTERCOUNT_H
