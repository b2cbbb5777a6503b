//===- GridPlan.cpp - how CTAs go through a grid --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "GridPlan.h"
#include "fa3/Machine/Chip.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace fa3::tile;

/// Rows of a product that one warp group computes with one instruction.
static constexpr int64_t kUnitRows = fa3::kSm90a.productRows;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

double fa3::tile::estimateRounds(int64_t full, int64_t rest, double restTime,
                                 int64_t sms) {
  // Some SMs have one full tile more than the others.
  int64_t rounds = full / sms, more = full % sms;
  double end = rounds + (more != 0);
  if (rest == 0)
    return end;
  // The earliest time by which the free time holds all other tiles.
  auto holds = [&](double time) {
    auto count = [&](double free) {
      return free < 0 ? 0 : static_cast<int64_t>(free / restTime + 1e-9);
    };
    return count(time - rounds) * (sms - more) +
               count(time - rounds - 1) * more >=
           rest;
  };
  // Processors of either kind end after a whole number of such tiles, at least
  // what all of them would need from the first moment on.
  auto findFirst = [&](double start) {
    double least = rest / sms - (start - rounds) / restTime - 1;
    int64_t tiles = std::max<int64_t>(0, static_cast<int64_t>(least));
    while (!holds(start + tiles * restTime))
      ++tiles;
    return start + tiles * restTime;
  };
  return std::max(end, std::min(findFirst(rounds), findFirst(rounds + 1)));
}

std::optional<RowPartition> fa3::tile::choosePartition(int64_t rows,
                                                       int64_t height,
                                                       int64_t copies,
                                                       int64_t sms) {
  // Of a tile's time, what a replica without rows does not save. Assumed: at
  // d 128, 8192, it says that 2.1 % are gained, measured were 2.6 %.
  constexpr double kFixed = 0.3, kGain = 0.015;
  int64_t units = llvm::divideCeil(rows, kUnitRows);
  int64_t replicas = height / kUnitRows;
  double best =
      estimateRounds(llvm::divideCeil(units, replicas) * copies, 0, 1, sms) *
      (1 - kGain);
  std::optional<RowPartition> result;
  for (int64_t part = 1; part < replicas; ++part) {
    double time = kFixed + (1 - kFixed) * part / replicas;
    for (int64_t full = 0; full <= units / replicas; ++full) {
      int64_t rest = llvm::divideCeil(units - full * replicas, part);
      double rounds = estimateRounds(full * copies, rest * copies, time, sms);
      if (rounds >= best)
        continue;
      best = rounds;
      result = RowPartition{full, part * kUnitRows, rest, units * kUnitRows};
    }
  }
  return result;
}

/// Cuts the rows unevenly where that makes the launch end earlier, or else ends
/// the last tile with the last rows.
static void cutRows(GridPlan &plan, const RowFacts &rows, bool mayShorten,
                    int64_t sms) {
  if (mayShorten && rows.mayDiffer)
    plan.partition = choosePartition(rows.rows, rows.height, rows.copies, sms);
  int64_t end = llvm::alignTo(rows.rows, kUnitRows);
  plan.endsLastTile = !plan.partition && end % rows.height != 0;
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

static GridMode chooseMode(const GridFacts &facts, const GridOptions &options,
                           bool hasEnds) {
  bool isAuto = options.mode == GridMode::Auto;
  // Tiles that wait have a CTA each, which is the first way to start them in
  // order; so do those with flags.
  if (isAuto && (facts.isOrdered || facts.hasFlags))
    return GridMode::PerTile;
  bool fits = isAuto && (hasEnds ? facts.fitsLoopWithEnds : facts.fitsLoop);
  // Tiles of different work are claimed; where nobody can claim for others,
  // there is one CTA for each.
  bool wantsDynamic =
      options.mode == GridMode::Dynamic || (fits && !facts.isUniform);
  // Where nobody knows how many tiles there are, none has a CTA of its own.
  bool mustLoop = facts.hasBoundInMemory && options.mode != GridMode::PerTile;
  if (mustLoop && isAuto)
    wantsDynamic = true;
  if (wantsDynamic && facts.hasLoader)
    return isAuto && !facts.fitsClaims ? GridMode::Static : GridMode::Dynamic;
  if (mustLoop)
    return GridMode::Static;
  bool wantsStatic = options.mode == GridMode::Static ||
                     (fits && facts.isUniform && !facts.hasLongLoops);
  return wantsStatic ? GridMode::Static : GridMode::PerTile;
}

GridPlan fa3::tile::chooseGrid(const GridFacts &facts,
                               const GridOptions &options) {
  GridPlan plan;
  plan.order = options.order != GridOrder::Auto      ? options.order
               : facts.isUniform && !facts.isOrdered ? GridOrder::Rows
                                                     : GridOrder::LongestFirst;
  // Tiles that wait for others start behind them, and not right behind: these
  // are a step further by then.
  plan.isBackwards = plan.order == GridOrder::LongestFirst &&
                     !facts.startsLong && !facts.isOrdered;
  if (options.mayCutRows && facts.rows && !facts.hasBoundInMemory)
    cutRows(plan, *facts.rows, facts.isUniform && plan.order == GridOrder::Rows,
            options.sms);
  plan.mode = chooseMode(facts, options, plan.hasEnds());
  // The host computes what sections there are, and what runs in front.
  bool hasCache = options.l2Bytes > 0 && !facts.hasBoundInMemory;
  plan.hasSections = plan.order == GridOrder::LongestFirst && hasCache &&
                     facts.sharesLoads && facts.dimensions > 1;
  if (plan.order == GridOrder::Rows && hasCache)
    plan.front = facts.front;
  return plan;
}

std::optional<std::string> fa3::tile::getObstacle(const GridPlan &plan,
                                                  const GridFacts &facts) {
  if (facts.hasBoundInMemory && plan.mode == GridMode::PerTile)
    return "has a bound in memory, of which the host knows nothing: expects a "
           "static or dynamic grid, got one CTA per tile";
  // A CTA that goes on to a tile of its number may not have room to start
  // before those that wait for the tile.
  if (facts.isOrdered && plan.mode == GridMode::Static)
    return "has tiles that wait for others: expects one CTA per tile or a "
           "dynamic grid, got a static one";
  if (facts.hasFlags && plan.mode != GridMode::PerTile)
    return "has tiles with flags, for which the groups of a CTA meet: expects "
           "one CTA per tile, got a static or dynamic grid";
  return std::nullopt;
}

llvm::raw_ostream &fa3::tile::operator<<(llvm::raw_ostream &os,
                                         const GridPlan &plan) {
  os << (plan.mode == GridMode::PerTile  ? "one CTA per tile"
         : plan.mode == GridMode::Static ? "static"
                                         : "dynamic");
  os << (plan.order == GridOrder::Rows ? ", rows" : ", longest-first");
  if (plan.order == GridOrder::LongestFirst && !plan.isBackwards)
    os << " from the start";
  if (plan.partition)
    os << ", " << plan.partition->numFull << " full tiles and "
       << plan.partition->numShort << " of " << plan.partition->shortHeight
       << " rows";
  if (plan.endsLastTile)
    os << ", the last tile ends early";
  if (plan.hasSections)
    os << ", sections";
  if (plan.front)
    os << ", index " << *plan.front << " in front";
  return os;
}
