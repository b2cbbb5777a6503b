//===- RowPartition.h - tiles of different heights --------------*- C++ -*-===//
//
// How the rows of a grid are cut into tiles: even ones, or full tiles and then
// shorter ones, so that the last round of a launch has no idle processors.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_ROWPARTITION_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_ROWPARTITION_H

#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace fa3::tile {

/// The first and the end row of a grid's tiles, where its body computes them:
/// m * height and (m + 1) * height of the first index m.
struct RowBoundaries {
  int64_t height = 0;
  llvm::SmallVector<mlir::arith::MulIOp> firsts, ends;
  /// Whether m serves for something else, so that tiles have to be even.
  bool hasOtherUses = false;
};

/// The boundaries of a grid in which all stores end at their tile's end of
/// rows.
std::optional<RowBoundaries> matchRowBoundaries(GridOp grid);

/// `numFull` tiles of `height` rows, then `numShort` of `shortHeight`; the last
/// one ends at `end`.
struct RowPartition {
  int64_t height, numFull, shortHeight, numShort, end;
  int64_t getNumTiles() const { return numFull + numShort; }
};

/// The partition that lets a launch end first, by the estimate of
/// `estimateRounds`, if that is at least 1.5 % before one of even tiles.
/// `copies` is the number of tiles that share a range of rows (heads, batch).
std::optional<RowPartition> choosePartition(int64_t rows, int64_t height,
                                            int64_t copies, int64_t processors);

/// Time until the last tile ends, in units of a full tile, if processors take
/// `full` tiles and then `rest` tiles of `restTime` as they become free.
double estimateRounds(int64_t full, int64_t rest, double restTime,
                      int64_t processors);

/// Ends the rows of the last of even tiles with the last replica that has any.
/// Whether some have none.
bool endLastTile(const RowBoundaries &boundaries, int64_t rows);

/// Replaces the boundaries by those of the partition.
void replaceBoundaries(const RowBoundaries &boundaries,
                       const RowPartition &partition);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_ROWPARTITION_H
