//===- RegisterEstimate.h - registers a group needs -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_DIALECT_TILE_ANALYSIS_REGISTERESTIMATE_H
#define FA3_DIALECT_TILE_ANALYSIS_REGISTERESTIMATE_H

#include "fa3/Dialect/Warp/IR/Warp.h"

namespace fa3::tile {

/// An estimate of the 32-bit registers per thread that a group needs, before
/// layouts are known: the largest sum, over all operations, of the tiles that
/// live past it, and a fixed rest for addresses and control. Tiles are spread
/// evenly over the threads of the group; the statistics of rows are held by
/// four lanes each, those of columns by eight; masks and coordinates are
/// recomputed where they are used, and what element code computes from tiles
/// that it reads once more exists one element at a time. `where` is set to the
/// operation at which the largest sum occurs.
int64_t estimateRegisters(warp::GroupOp group, mlir::Operation *&where);

/// Whether products of a loop read, in each step, an entry of a ring that the
/// threads of the loop filled in an earlier one, as tile-schedule orders loops
/// with `late-products`. Tiles of such loops follow each other in the same
/// registers.
bool readsEarlierExchange(mlir::scf::ForOp loop);

/// Registers per thread that a group may have: what is left of the register
/// file when warp groups of other roles keep `others`, or else the least that
/// the chip lets them, at most `mostOfConsumer` of the register model.
int64_t getRegisterLimit(warp::GroupOp group,
                         std::optional<int64_t> others = std::nullopt);

/// Threads of a block that runs these groups.
int64_t countThreads(warp::SpecializeOp op);

} // namespace fa3::tile

#endif // FA3_DIALECT_TILE_ANALYSIS_REGISTERESTIMATE_H
