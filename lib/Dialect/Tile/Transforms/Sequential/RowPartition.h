//===- RowPartition.h - tiles of different heights --------------*- C++ -*-===//
//
// How the rows of a grid are cut into tiles: even ones, or full tiles and then
// shorter ones, so that the last round of a launch has no idle SMs.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_ROWPARTITION_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_ROWPARTITION_H

#include "fa3/Dialect/Tile/IR/Tile.h"

namespace fa3::tile {

/// `numFull` tiles of all rows, then `numShort` of `shortHeight`; the last one
/// ends at `end`.
struct RowPartition {
  int64_t numFull, shortHeight, numShort, end;
  int64_t getNumTiles() const { return numFull + numShort; }
};

/// The partition that lets a launch end first, by the estimate of
/// `estimateRounds`, if that is at least 1.5 % before one of even tiles.
/// `copies` is the number of tiles that share a range of rows (heads, batch).
std::optional<RowPartition> choosePartition(int64_t rows, int64_t height,
                                            int64_t copies, int64_t sms);

/// Time until the last tile ends, in units of a full tile, if SMs take
/// `full` tiles and then `rest` tiles of `restTime` as they become free.
double estimateRounds(int64_t full, int64_t rest, double restTime, int64_t sms);

/// How the rows of a grid were cut: whether tiles end before all of their
/// replicas have rows, and the partition if it is not even.
struct CutRows {
  bool hasEnds = false;
  std::optional<RowPartition> partition = std::nullopt;
};

/// Cuts the rows of a grid in which all stores end at their tile's end of rows:
/// unevenly where that makes the launch end earlier and `mayShorten`, or else
/// ends the last tile with the last row. Does nothing where extents are unknown
/// or the kernel has no products, whose rows replicas divide.
CutRows cutRows(GridOp grid, int64_t sms, bool mayShorten);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_ROWPARTITION_H
