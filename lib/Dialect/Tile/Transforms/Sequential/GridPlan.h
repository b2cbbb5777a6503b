//===- GridPlan.h - how CTAs go through a grid ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What tile-map-grid decides, as plain data: GridFacts is what is known of a
// grid, GridPlan how its tiles are dealt out. GridFacts.h reads the facts from
// the IR, MapGrid.cpp applies the plan on the host and in the kernel.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_GRIDPLAN_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_GRIDPLAN_H

#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <optional>
#include <string>

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

/// Rows of a grid whose extents are known.
struct RowFacts {
  int64_t rows, height;
  /// Positions of the grid that share a range of rows.
  int64_t copies;
  /// Whether the first index serves for rows alone, so that tiles may differ.
  bool mayDiffer;
};

struct GridFacts {
  unsigned dimensions = 1;
  /// Whether bounds are in memory, so that the host does not know them.
  bool hasBoundInMemory = false;
  /// Whether all tiles have the same work.
  bool isUniform = true;
  /// Whether the first tiles have the most work.
  bool startsLong = false;
  /// Whether a group will load tiles for the others, whose warp claims tiles.
  bool hasLoader = false;
  /// Whether loops are known to be so long that starts and ends of tiles, which
  /// a loop over tiles hides, hardly count.
  bool hasLongLoops = false;
  /// Whether consumers have registers for a loop over tiles; and whether they
  /// do if some tiles end before all of their replicas have rows.
  bool fitsLoop = false, fitsLoopWithEnds = false;
  /// Whether a claimed number fits as well.
  bool fitsClaims = true;
  /// Whether loops load from arrays of which tiles that differ in the first
  /// index alone load the same part.
  bool sharesLoads = false;
  /// The place of an index, in the order in which tiles are numbered, that may
  /// run in front of the first: tiles that differ in it alone share rows that
  /// element code reads.
  std::optional<unsigned> front;
  std::optional<RowFacts> rows;
  /// Whether tiles wait for those with a lower first index (tile.ordered).
  bool isOrdered = false;
  /// Whether tiles have flags, or wait for some: in front of all groups, so in
  /// a CTA of their own.
  bool hasFlags = false;
};

enum class GridMode { Auto, PerTile, Static, Dynamic };
enum class GridOrder { Auto, Rows, LongestFirst };

struct GridOptions {
  GridMode mode = GridMode::Auto;
  GridOrder order = GridOrder::Auto;
  bool mayCutRows = false;
  int64_t sms = 132, l2Bytes = 0;
};

struct GridPlan {
  /// One CTA per tile, or CTAs that go on to further tiles: to those of their
  /// number, or to those that they claim. Never Auto.
  GridMode mode = GridMode::PerTile;
  GridOrder order = GridOrder::Rows;
  /// Whether the first index runs from its end to its start.
  bool isBackwards = false;
  /// Full tiles and then shorter ones; or else the last tile ends with the last
  /// rows.
  std::optional<RowPartition> partition;
  bool endsLastTile = false;
  /// Outer indices are cut into sections, or one of them, at that place, runs
  /// in front of the first as far as the host finds that it pays.
  bool hasSections = false;
  std::optional<unsigned> front;

  bool isPersistent() const { return mode != GridMode::PerTile; }
  /// Whether tiles end before all of their replicas have rows.
  bool hasEnds() const { return partition || endsLastTile; }
};

GridPlan chooseGrid(const GridFacts &facts, const GridOptions &options);

/// Why the plan is none for that grid; nothing if it is.
std::optional<std::string> getObstacle(const GridPlan &plan,
                                       const GridFacts &facts);

/// One line, such as "dynamic, longest-first, sections".
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const GridPlan &plan);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_GRIDPLAN_H
