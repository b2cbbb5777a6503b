//===- GridFacts.cpp - what is known of a grid ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "GridFacts.h"
#include "../Utils.h"
#include "GridSections.h"
#include "GridTrend.h"
#include "ListTiles.h"
#include "RowPartition.h"
#include "fa3/Dialect/Tile/Analysis/RegisterCount.h"
#include "fa3/Dialect/Tile/IR/OrderedOps.h"
#include "fa3/Machine/RegisterModel.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3::tile;

/// Whether the bounds of a loop in the grid depend on the grid's first index.
static bool workDependsOnFirstIndex(GridOp grid) {
  llvm::SetVector<Operation *> slice;
  ForwardSliceOptions options;
  options.inclusive = false;
  getForwardSlice(grid.getBody().getArgument(0), &slice, options);
  auto isDerived = [&](Value value) {
    return value == grid.getBody().getArgument(0) ||
           (value.getDefiningOp() && slice.contains(value.getDefiningOp()) &&
            isa<IndexType>(value.getType()));
  };
  WalkResult result = grid.walk([&](scf::ForOp loop) {
    return isDerived(loop.getUpperBound()) || isDerived(loop.getLowerBound())
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether integers that a tile reads in front of its loops, as how long its
/// sequence is, stay in registers of consumers. A search among many is worth
/// the loop over tiles, which hides it, and ptxas has room for what it finds
/// where steps are in a loop of a loop.
static bool keepsNumbers(GridOp grid) {
  constexpr int64_t kFew = 8;
  int64_t numbers = 0;
  bool isNested = false;
  grid.walk([&](Operation *op) {
    auto loop = op->getParentOfType<scf::ForOp>();
    bool inLoop = loop && grid->isProperAncestor(loop);
    isNested |= inLoop && isa<scf::ForOp>(op);
    if (auto load = dyn_cast<ScalarLoadOp>(op))
      numbers += !inLoop && load.getType().isInteger();
    else if (isa<SearchOp>(op))
      numbers += !inLoop ? kFew + 1 : 0;
  });
  return isNested ? numbers > 0 && numbers <= kFew : numbers > 0;
}

/// Whether consumers have registers left for the state of a loop over tiles.
/// Tiles that threads load for other ends keep their addresses alive as well.
static bool leavesRegisters(GridOp grid, LoadPolicy loads, bool hasEnds) {
  const fa3::RegisterModel &model = getRegisterModel(fa3::getChip(grid));
  bool isKnown = matchPattern(grid.getUpperBounds().front(), m_Constant());
  RegisterCount count = countRegisters(grid, isKnown, loads, hasEnds);
  int64_t budget = model.getLoopBudget(count.groups);
  if (count.groups == 2 && keepsNumbers(grid))
    budget = model.numbersOfTwo;
  return !count.loadsByThreads &&
         count.registers + model.loopOverTiles <= budget;
}

/// Whether consumers have registers left for the number of a tile that is
/// claimed. Three of them have not where a tile reads from a list, at a place
/// that the grid says, how many steps it takes, and on the way which.
static bool leavesNumber(GridOp grid, LoadPolicy loads) {
  constexpr int64_t kTight = 3;
  bool isKnown = matchPattern(grid.getUpperBounds().front(), m_Constant());
  if (countRegisters(grid, isKnown, loads, /*hasEnds=*/false).groups != kTight)
    return true;
  auto isListed = [&](Operation *op) {
    ScalarSlice place;
    return isa<ScalarLoadOp>(op) &&
           llvm::all_of(op->getOperands().drop_front(),
                        [&](Value index) { return place.add(index, grid); }) &&
           place.indices.contains(0) && !place.readsMemory();
  };
  for (auto loop : grid.getBody().front().getOps<scf::ForOp>()) {
    ScalarSlice bounds;
    bounds.add(loop.getLowerBound(), grid);
    bounds.add(loop.getUpperBound(), grid);
    if (llvm::any_of(bounds.ops, isListed) &&
        !loop.getBody()->getOps<ScalarLoadOp>().empty())
      return false;
  }
  return true;
}

/// Whether tile-assign-roles will give loads to a group of their own, whose
/// warp claims tiles for all.
static bool hasLoadingGroup(GridOp grid, LoadPolicy loads) {
  WalkResult result = grid.walk([&](LoadOp load) {
    bool feedsProducts = llvm::any_of(load->getUsers(), isProductOrConversion);
    return WalkResult(failure(isBulkElementLoad(load, loads) ||
                              (isBulkCopy(load) && feedsProducts)));
  });
  return result.wasInterrupted();
}

/// Whether loops are known to be so long that starts and ends of tiles, which a
/// loop over tiles hides, hardly count.
static bool hasLongLoops(GridOp grid) {
  constexpr int64_t kLong = 64;
  WalkResult result = grid.walk([&](scf::ForOp loop) {
    std::optional<llvm::APInt> count = loop.getStaticTripCount();
    return count && count->uge(kLong) ? WalkResult::interrupt()
                                      : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether a bound of the grid is computed from what is in memory.
static bool hasBoundInMemory(GridOp grid) {
  ScalarSlice slice;
  for (Value bound : grid.getUpperBounds())
    slice.add(bound, grid);
  return slice.readsMemory();
}

/// Whether tiles add in the order of the first index.
static bool isOrdered(GridOp grid) {
  return grid
      .walk([](Operation *op) {
        return isa<OrderedOp, EndOrderedOp>(op) ? WalkResult::interrupt()
                                                : WalkResult::advance();
      })
      .wasInterrupted();
}

GridFacts fa3::tile::getGridFacts(GridOp grid, ArrayRef<unsigned> places,
                                  LoadPolicy loads, int64_t l2Bytes) {
  GridFacts facts;
  facts.dimensions = grid.getUpperBounds().size();
  facts.hasBoundInMemory = hasBoundInMemory(grid);
  facts.isUniform = !workDependsOnFirstIndex(grid);
  facts.startsLong = workFallsWithFirstIndex(grid);
  facts.hasLoader = hasLoadingGroup(grid, loads);
  facts.hasLongLoops = hasLongLoops(grid);
  facts.fitsLoop = leavesRegisters(grid, loads, /*hasEnds=*/false);
  facts.fitsLoopWithEnds = leavesRegisters(grid, loads, /*hasEnds=*/true);
  facts.fitsClaims = leavesNumber(grid, loads);
  facts.sharesLoads = !getSharedArrays(grid).empty();
  for (auto [place, index] : llvm::enumerate(places))
    if (place && !facts.front && findSharedRows(grid, index, loads, l2Bytes))
      facts.front = place;
  facts.rows = getRowFacts(grid);
  facts.isOrdered = isOrdered(grid);
  facts.hasFlags = !grid.getBody().front().getOps<ClearFlagOp>().empty() ||
                   !grid.getBody().front().getOps<AwaitFlagsOp>().empty();
  return facts;
}
