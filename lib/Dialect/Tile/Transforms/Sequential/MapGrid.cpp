//===- MapGrid.cpp - tile-map-grid ----------------------------------------===//

#include "../RegisterCount.h"
#include "../Utils.h"
#include "GridNumbering.h"
#include "GridSections.h"
#include "GridSharing.h"
#include "RowPartition.h"
#include "fa3/Dialect/Tile/Analysis/ElementLoads.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"

namespace fa3::tile {
#define GEN_PASS_DEF_MAPGRID
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3::tile;

/// Copies the computation of `value`, made of pure operations on kernel
/// arguments, in front of the launch.
static FailureOr<Value> computeOnHost(OpBuilder &builder, Value value,
                                      gpu::GPUFuncOp kernel, LaunchOp launch,
                                      IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    assert(argument.getOwner() == &kernel.getBody().front() &&
           "the grid lies in no loop");
    Value operand = launch.getKernelArgs()[argument.getArgNumber()];
    mapping.map(value, operand);
    return operand;
  }
  Operation *op = value.getDefiningOp();
  if (!isPure(op) || isa<ScalarLoadOp>(op) || op->getNumRegions())
    return op->emitOpError("is part of a grid bound, which must be index "
                           "arithmetic on kernel arguments");
  for (Value operand : op->getOperands())
    if (failed(computeOnHost(builder, operand, kernel, launch, mapping)))
      return failure();
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

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

/// Whether consumers have registers left for the state of a loop over tiles.
/// Tiles that threads load for other ends keep their addresses alive as well.
static bool leavesRegisters(GridOp grid, LoadPolicy loads, bool hasEnds) {
  constexpr int64_t kLoopOverTiles = 8;
  bool isKnown = matchPattern(grid.getUpperBounds().front(), m_Constant());
  RegisterCount count = countRegisters(grid, isKnown, loads, hasEnds);
  // By consumer warp groups; where ptxas began to spill in test/Matrix, of
  // which no kernel with two groups spills below this limit.
  int64_t limit = count.groups >= 4 ? 116 : count.groups == 3 ? 164 : 264;
  return !count.loadsByThreads && count.registers + kLoopOverTiles <= limit;
}

/// Whether tile-assign-roles will give loads to a group of their own, whose
/// warp claims tiles for all.
static bool hasLoadingGroup(GridOp grid, LoadPolicy loads) {
  WalkResult result = grid.walk([&](LoadOp load) {
    bool feedsProducts = llvm::any_of(
        load->getUsers(), llvm::IsaPred<DotOp, RelabelOp, TransposeOp>);
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

namespace {
struct MapGrid : fa3::tile::impl::MapGridBase<MapGrid> {
  using MapGridBase::MapGridBase;

  void runOnOperation() override {
    if (sms < 1) {
      getOperation().emitError("tile-map-grid: expects sms of at least "
                               "1, got ")
          << sms.getValue();
      return signalPassFailure();
    }
    if (l2Bytes < 0) {
      getOperation().emitError("tile-map-grid: expects l2-bytes of at least 0, "
                               "got ")
          << l2Bytes.getValue();
      return signalPassFailure();
    }
    // What the host multiplies it by stays far from 64 bits.
    constexpr int64_t kMostRounds = 1 << 20;
    if (sectionRounds < 0 || sectionRounds > kMostRounds) {
      getOperation().emitError("tile-map-grid: expects section-rounds of 0 to ")
          << kMostRounds << ", got " << sectionRounds.getValue();
      return signalPassFailure();
    }
    numMapped = numClaiming = 0;
    SmallVector<LaunchOp> launches;
    getOperation().walk([&](LaunchOp launch) { launches.push_back(launch); });
    if (failed(forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
          return map(kernel, launches);
        })))
      return signalPassFailure();
    if (mode == options::Mode::Dynamic && numMapped > 0 && numClaiming == 0)
      getOperation().emitRemark("no kernel has CTAs that claim tiles: none has "
                                "a group that loads tiles for others");
  }

  LogicalResult map(gpu::GPUFuncOp kernel, ArrayRef<LaunchOp> launches);

  /// Kernels with a grid, and of these such whose CTAs could claim tiles.
  int64_t numMapped = 0, numClaiming = 0;
};
} // namespace

LogicalResult MapGrid::map(gpu::GPUFuncOp kernel, ArrayRef<LaunchOp> launches) {
  auto grids = kernel.getBody().front().getOps<GridOp>();
  if (grids.empty())
    return success();
  GridOp grid = *grids.begin();
  if (!llvm::hasSingleElement(grids))
    return kernel.emitOpError("expects one 'tile.grid' in a kernel");
  bool uniform = !workDependsOnFirstIndex(grid);
  bool hasPairs = order == options::Order::Pairs;
  bool longestFirst = order == options::Order::LongestFirst ||
                      (order == options::Order::Auto && !uniform);
  CutRows rows;
  if (heights == options::Heights::Auto)
    rows = cutRows(grid, sms, uniform && !longestFirst && !hasPairs);
  const std::optional<RowPartition> &partition = rows.partition;
  numPartitioned += partition.has_value();
  bool fits =
      mode == options::Mode::Auto && leavesRegisters(grid, loads, rows.hasEnds);
  bool canClaim = hasLoadingGroup(grid, loads);
  ++numMapped;
  numClaiming += canClaim;
  bool isDynamic =
      canClaim && (mode == options::Mode::Dynamic || (fits && !uniform));
  bool isStatic =
      mode == options::Mode::Static || (fits && uniform && !hasLongLoops(grid));
  bool persistent = isDynamic || isStatic;
  if (hasPairs && (!isStatic || grid.getUpperBounds().size() < 2))
    return grid.emitOpError("order 'pairs' expects a static grid of two or "
                            "more dimensions, got ")
           << (isDynamic  ? "a dynamic one"
               : isStatic ? "one of one dimension"
                          : "one CTA per tile");
  SmallVector<SharedArray> shared = getSharedArrays(grid);
  bool hasSections = longestFirst && l2Bytes > 0 && !shared.empty() &&
                     grid.getUpperBounds().size() > 1;
  SmallVector<unsigned> places = orderIndices(grid, loads);
  // The place among them of an index that may run in front of the first one.
  unsigned front = 0;
  std::optional<SharedRows> sharedRows;
  if (!longestFirst && !hasPairs && l2Bytes > 0)
    while (!sharedRows && ++front < places.size())
      sharedRows = findSharedRows(grid, places[front], loads, l2Bytes);

  // Host: the number of blocks and what else depends on extents only.
  for (LaunchOp launch : launches) {
    if (SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernelAttr()) !=
        kernel)
      continue;
    ImplicitLocOpBuilder b(launch.getLoc(), launch);
    IRMapping mapping;
    SmallVector<Value> bounds;
    for (Value bound : grid.getUpperBounds()) {
      FailureOr<Value> onHost =
          computeOnHost(b, bound, kernel, launch, mapping);
      if (failed(onHost))
        return failure();
      bounds.push_back(*onHost);
    }
    Value blocks = product(b, bounds);
    if (hasSections) {
      SmallVector<SharedArray> arrays;
      for (auto [array, bytesOfTile] : shared) {
        FailureOr<Value> onHost =
            computeOnHost(b, array, kernel, launch, mapping);
        if (failed(onHost))
          return failure();
        arrays.push_back({*onHost, bytesOfTile});
      }
      Value outer = product(b, ArrayRef(bounds).drop_front());
      launch.getKernelArgsMutable().append(
          computeSections(b, arrays, outer, blocks, l2Bytes, sectionRounds));
    }
    if (sharedRows) {
      FailureOr<Value> array =
          computeOnHost(b, sharedRows->array, kernel, launch, mapping);
      if (failed(array))
        return failure();
      SharedRows onHost = *sharedRows;
      onHost.array = *array;
      launch.getKernelArgsMutable().append(
          computeFront(b, onHost, bounds[places[front]], l2Bytes));
    }
    if (persistent)
      blocks = arith::MinUIOp::create(b, blocks, SmCountOp::create(b));
    launch.getBlocksMutable().assign(blocks);
  }

  // Kernel: tile numbers.
  ImplicitLocOpBuilder b(grid.getLoc(), grid);
  // What the host has computed: sections of the grid, or how many values of an
  // index run in front of the first.
  Value fromHost;
  if (hasSections || sharedRows) {
    unsigned position = kernel.getNumArguments();
    if (failed(kernel.insertArgument(position, b.getIndexType(),
                                     DictionaryAttr(), kernel.getLoc())))
      return failure();
    fromHost = kernel.getArgument(position);
  }
  Value id = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  Value tiles, step;
  scf::ForOp loop;
  numPersistent += persistent;
  if (persistent) {
    tiles = product(b, grid.getUpperBounds());
    step = gpu::GridDimOp::create(b, gpu::Dimension::x);
    Value lower = id, upper = tiles, by = step;
    if (isDynamic) {
      lower = arith::ConstantIndexOp::create(b, 0);
      upper = ShareOp::create(b, tiles);
      by = arith::ConstantIndexOp::create(b, 1);
    }
    loop = scf::ForOp::create(b, lower, upper, by);
    id = loop.getInductionVar();
    b.setInsertionPointToStart(loop.getBody());
    if (isDynamic)
      id = ClaimOp::create(b, id, tiles);
  }
  SmallVector<unsigned> fastestFirst;
  SmallVector<Value> bounds;
  for (auto [i, index] : llvm::enumerate(places)) {
    bounds.push_back(grid.getUpperBounds()[index]);
    fastestFirst.push_back(i);
  }
  if (longestFirst)
    std::rotate(fastestFirst.begin(), fastestFirst.begin() + 1,
                fastestFirst.end());
  Value inFront;
  if (sharedRows) {
    inFront = arith::RemUIOp::create(b, id, fromHost);
    id = arith::DivUIOp::create(b, id, fromHost);
    bounds[front] = arith::DivUIOp::create(b, bounds[front], fromHost);
  }
  SmallVector<Value> indices =
      partition     ? decodePartition(b, id, bounds, partition->numFull,
                                      partition->numShort)
      : hasPairs    ? decodePairs(b, id, bounds, tiles, step)
      : hasSections ? decodeSections(b, id, bounds, fromHost)
                    : decode(b, id, bounds, fastestFirst);
  if (sharedRows)
    indices[front] = arith::AddIOp::create(
        b, arith::MulIOp::create(b, indices[front], fromHost), inFront);
  if (longestFirst) {
    Value one = arith::ConstantIndexOp::create(b, 1);
    Value last = arith::SubIOp::create(b, bounds[0], one);
    indices[0] = arith::SubIOp::create(b, last, indices[0]);
  }
  grid.getBody().front().getTerminator()->erase();
  Block *block = b.getInsertionBlock();
  Block &body = grid.getBody().front();
  for (auto [index, value] : llvm::zip(places, indices))
    body.getArgument(index).replaceAllUsesWith(value);
  block->getOperations().splice(b.getInsertionPoint(), body.getOperations());
  grid.erase();
  // Such as scales, which take as long to come from memory for every tile.
  if (loop)
    hoistScalars(loop);
  return success();
}
