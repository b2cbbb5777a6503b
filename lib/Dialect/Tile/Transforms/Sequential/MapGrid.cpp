//===- MapGrid.cpp - tile-map-grid ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Utils.h"
#include "GridFacts.h"
#include "GridNumbering.h"
#include "GridSections.h"
#include "RowPartition.h"
#include "fa3/Dialect/Tile/IR/OrderedOps.h"
#include "fa3/Dialect/Tile/Transforms/Transforms.h"
#include "fa3/Support/CloneScalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"

namespace fa3::tile {
#define GEN_PASS_DEF_MAPGRID
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// Copies the computation of `value`, made of pure operations on kernel
/// arguments, in front of the launch.
static FailureOr<Value> computeOnHost(OpBuilder &builder, Value value,
                                      gpu::GPUFuncOp kernel, LaunchOp launch,
                                      IRMapping &mapping) {
  auto getOperand = [&](BlockArgument argument) -> Value {
    assert(argument.getOwner() == &kernel.getBody().front() &&
           "the grid lies in no loop");
    return launch.getKernelArgs()[argument.getArgNumber()];
  };
  auto copy = [&](Operation *op) -> FailureOr<Operation *> {
    if (!isPure(op) || isa<ScalarLoadOp, SearchOp>(op) || op->getNumRegions())
      return op->emitOpError("is part of a grid bound, which must be index "
                             "arithmetic on kernel arguments");
    return builder.clone(*op, mapping);
  };
  return cloneScalars(builder, value, mapping, {getOperand, copy});
}

namespace {
/// A plan with the values that its application needs.
struct MappedGrid {
  gpu::GPUFuncOp kernel;
  GridOp grid;
  GridPlan plan;
  /// Indices of the grid in the order in which tiles are numbered.
  SmallVector<unsigned> places;
  /// With sections: what they are to hold in the cache.
  SmallVector<SharedArray> shared;
  /// With an index in front: what its values share.
  std::optional<SharedRows> sharedRows;
  int64_t l2Bytes, sectionRounds;
  /// Whether only the kernel knows the bounds.
  bool hasBoundInMemory;

  /// Whether the host computes a number that the kernel takes: of sections, or
  /// of values of an index that run in front of the first.
  bool takesNumber() const { return plan.hasSections || sharedRows; }
};
} // namespace

/// Gives the launch the number of blocks and what else depends on extents only.
static LogicalResult applyOnHost(MappedGrid &mapped, LaunchOp launch) {
  ImplicitLocOpBuilder b(launch.getLoc(), launch);
  IRMapping mapping;
  auto onHost = [&](Value value) {
    return computeOnHost(b, value, mapped.kernel, launch, mapping);
  };
  if (mapped.hasBoundInMemory) {
    launch.getBlocksMutable().assign(SmCountOp::create(b));
    return success();
  }
  SmallVector<Value> bounds;
  for (Value bound : mapped.grid.getUpperBounds()) {
    FailureOr<Value> copy = onHost(bound);
    if (failed(copy))
      return failure();
    bounds.push_back(*copy);
  }
  Value blocks = product(b, bounds);
  if (mapped.plan.hasSections) {
    SmallVector<SharedArray> arrays;
    for (auto [array, bytesOfTile] : mapped.shared) {
      FailureOr<Value> copy = onHost(array);
      if (failed(copy))
        return failure();
      arrays.push_back({*copy, bytesOfTile});
    }
    Value outer = product(b, ArrayRef(bounds).drop_front());
    launch.getKernelArgsMutable().append(computeSections(
        b, arrays, outer, blocks, mapped.l2Bytes, mapped.sectionRounds));
  }
  if (mapped.sharedRows) {
    FailureOr<Value> array = onHost(mapped.sharedRows->array);
    if (failed(array))
      return failure();
    SharedRows rows = *mapped.sharedRows;
    rows.array = *array;
    Value bound = bounds[mapped.places[*mapped.plan.front]];
    launch.getKernelArgsMutable().append(
        computeFront(b, rows, bound, mapped.l2Bytes));
  }
  if (mapped.plan.isPersistent())
    blocks = arith::MinUIOp::create(b, blocks, SmCountOp::create(b));
  launch.getBlocksMutable().assign(blocks);
  return success();
}

namespace {
/// The number of the tile that a CTA works on, where `b` then inserts.
struct TileNumber {
  Value id;
  scf::ForOp loop; ///< of a persistent launch
};
} // namespace

static TileNumber createNumber(ImplicitLocOpBuilder &b,
                               const MappedGrid &mapped) {
  GridMode mode = mapped.plan.mode;
  TileNumber number;
  number.id = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  if (mode == GridMode::PerTile)
    return number;
  GridOp grid = mapped.grid;
  Value tiles = product(b, grid.getUpperBounds());
  Value lower = number.id, upper = tiles;
  Value by = gpu::GridDimOp::create(b, gpu::Dimension::x);
  bool isDynamic = mode == GridMode::Dynamic;
  if (isDynamic) {
    lower = arith::ConstantIndexOp::create(b, 0);
    upper = ShareOp::create(b, tiles);
    by = arith::ConstantIndexOp::create(b, 1);
  }
  number.loop = scf::ForOp::create(b, lower, upper, by);
  number.id = number.loop.getInductionVar();
  b.setInsertionPointToStart(number.loop.getBody());
  if (isDynamic)
    number.id = ClaimOp::create(b, number.id, tiles);
  return number;
}

/// The indices of a tile, in the order of `places`.
static SmallVector<Value> decodeIndices(ImplicitLocOpBuilder &b,
                                        const MappedGrid &mapped,
                                        const TileNumber &number,
                                        Value fromHost) {
  const GridPlan &plan = mapped.plan;
  bool longestFirst = plan.order == GridOrder::LongestFirst;
  SmallVector<unsigned> fastestFirst;
  SmallVector<Value> bounds;
  GridOp grid = mapped.grid;
  for (auto [i, index] : llvm::enumerate(mapped.places)) {
    bounds.push_back(grid.getUpperBounds()[index]);
    fastestFirst.push_back(i);
  }
  if (longestFirst)
    std::rotate(fastestFirst.begin(), fastestFirst.begin() + 1,
                fastestFirst.end());
  Value id = number.id, inFront;
  if (plan.front) {
    inFront = arith::RemUIOp::create(b, id, fromHost);
    id = arith::DivUIOp::create(b, id, fromHost);
    bounds[*plan.front] =
        arith::DivUIOp::create(b, bounds[*plan.front], fromHost);
  }
  SmallVector<Value> indices =
      plan.partition ? decodePartition(b, id, bounds, plan.partition->numFull,
                                       plan.partition->numShort)
      : plan.hasSections ? decodeSections(b, id, bounds, fromHost)
                         : decode(b, id, bounds, fastestFirst);
  if (plan.front)
    indices[*plan.front] = arith::AddIOp::create(
        b, arith::MulIOp::create(b, indices[*plan.front], fromHost), inFront);
  if (plan.isBackwards) {
    Value one = arith::ConstantIndexOp::create(b, 1);
    Value last = arith::SubIOp::create(b, bounds[0], one);
    indices[0] = arith::SubIOp::create(b, last, indices[0]);
  }
  return indices;
}

/// Replaces the grid by code that computes its indices from a tile's number.
static LogicalResult applyInKernel(MappedGrid &mapped) {
  GridOp grid = mapped.grid;
  ImplicitLocOpBuilder b(grid.getLoc(), grid);
  Value fromHost;
  if (mapped.takesNumber()) {
    unsigned position = mapped.kernel.getNumArguments();
    if (failed(mapped.kernel.insertArgument(position, b.getIndexType(),
                                            DictionaryAttr(),
                                            mapped.kernel.getLoc())))
      return failure();
    fromHost = mapped.kernel.getArgument(position);
  }
  TileNumber number = createNumber(b, mapped);
  SmallVector<Value> indices = decodeIndices(b, mapped, number, fromHost);
  Block &body = grid.getBody().front();
  body.getTerminator()->erase();
  for (auto [index, value] : llvm::zip(mapped.places, indices))
    body.getArgument(index).replaceAllUsesWith(value);
  b.getInsertionBlock()->getOperations().splice(b.getInsertionPoint(),
                                                body.getOperations());
  grid.erase();
  // Such as scales, which take as long to come from memory for every tile.
  if (number.loop)
    hoistScalars(number.loop);
  return success();
}

static GridOptions getGridOptions(const MapGridOptions &given) {
  GridOptions options;
  options.mode = given.mode == options::Mode::Auto     ? GridMode::Auto
                 : given.mode == options::Mode::Cta    ? GridMode::PerTile
                 : given.mode == options::Mode::Static ? GridMode::Static
                                                       : GridMode::Dynamic;
  options.order = given.order == options::Order::Rows ? GridOrder::Rows
                  : given.order == options::Order::LongestFirst
                      ? GridOrder::LongestFirst
                      : GridOrder::Auto;
  options.mayCutRows = given.heights == options::Heights::Auto;
  options.sms = given.sms;
  options.l2Bytes = given.l2Bytes;
  return options;
}

/// What memory holds may be anything: no tiles, if it is negative.
static void clampBounds(GridOp grid) {
  ImplicitLocOpBuilder b(grid.getLoc(), grid);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  for (OpOperand &bound : grid->getOpOperands())
    bound.set(arith::MaxSIOp::create(b, bound.get(), zero));
}

/// CTAs start in the order of their numbers, which rise with the first index:
/// it has to be the number of a tile in its line.
static LogicalResult verifyLines(GridOp grid) {
  auto verify = [&](auto op) -> LogicalResult {
    if (op.getNumber().empty() ||
        op.getNumber().back() == grid.getBody().getArgument(0))
      return success();
    return op.emitOpError("expects the first index of the grid as the number "
                          "of a tile, the last index of its progress");
  };
  WalkResult result = grid.walk([&](Operation *op) {
    LogicalResult isLine = success();
    if (auto ordered = dyn_cast<OrderedOp>(op))
      isLine = verify(ordered);
    else if (auto end = dyn_cast<EndOrderedOp>(op))
      isLine = verify(end);
    return WalkResult(isLine);
  });
  return failure(result.wasInterrupted());
}

FailureOr<std::optional<GridMapping>>
fa3::tile::mapGrid(gpu::GPUFuncOp kernel, ArrayRef<LaunchOp> launches,
                   const MapGridOptions &options) {
  auto grids = kernel.getBody().front().getOps<GridOp>();
  if (grids.empty())
    return std::optional<GridMapping>();
  GridOp grid = *grids.begin();
  if (!llvm::hasSingleElement(grids))
    return kernel.emitOpError("expects one 'tile.grid' in a kernel");
  if (failed(verifyLines(grid)))
    return failure();
  SmallVector<unsigned> places = orderIndices(grid, options.loads);
  GridFacts facts = getGridFacts(grid, places, options.loads, options.l2Bytes);
  GridPlan plan = chooseGrid(facts, getGridOptions(options));
  if (std::optional<std::string> obstacle = getObstacle(plan, facts))
    return grid.emitOpError(*obstacle);
  GridMapping mapping{plan.isPersistent(), plan.partition.has_value(),
                      facts.hasLoader};

  if (plan.hasEnds())
    applyRows(grid, plan, *facts.rows);
  if (facts.hasBoundInMemory)
    clampBounds(grid);
  MappedGrid mapped = {kernel,
                       grid,
                       plan,
                       places,
                       {},
                       std::nullopt,
                       options.l2Bytes,
                       options.sectionRounds,
                       facts.hasBoundInMemory};
  if (plan.hasSections)
    mapped.shared = getSharedArrays(grid);
  if (plan.front)
    mapped.sharedRows = findSharedRows(grid, places[*plan.front], options.loads,
                                       options.l2Bytes);
  for (LaunchOp launch : launches)
    if (SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernelAttr()) ==
            kernel &&
        failed(applyOnHost(mapped, launch)))
      return failure();
  if (failed(applyInKernel(mapped)))
    return failure();
  return std::optional(mapping);
}

namespace {
struct MapGrid : fa3::tile::impl::MapGridBase<MapGrid> {
  using MapGridBase::MapGridBase;

  LogicalResult verifyOptions() {
    if (sms < 1) {
      getOperation().emitError("tile-map-grid: expects sms of at least "
                               "1, got ")
          << sms.getValue();
      return failure();
    }
    if (l2Bytes < 0) {
      getOperation().emitError("tile-map-grid: expects l2-bytes of at least 0, "
                               "got ")
          << l2Bytes.getValue();
      return failure();
    }
    // What the host multiplies it by stays far from 64 bits.
    constexpr int64_t kMostRounds = 1 << 20;
    if (sectionRounds < 0 || sectionRounds > kMostRounds) {
      getOperation().emitError("tile-map-grid: expects section-rounds of 0 to ")
          << kMostRounds << ", got " << sectionRounds.getValue();
      return failure();
    }
    return success();
  }

  void runOnOperation() override {
    if (failed(verifyOptions()))
      return signalPassFailure();
    MapGridOptions options;
    options.mode = mode;
    options.order = order;
    options.l2Bytes = l2Bytes;
    options.sectionRounds = sectionRounds;
    options.heights = heights;
    options.sms = sms;
    options.loads = loads;
    // Kernels with a grid, and of these such whose CTAs could claim tiles.
    int64_t numMapped = 0, numClaiming = 0;
    SmallVector<LaunchOp> launches;
    getOperation().walk([&](LaunchOp launch) { launches.push_back(launch); });
    if (failed(forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
          FailureOr<std::optional<GridMapping>> mapping =
              mapGrid(kernel, launches, options);
          if (failed(mapping))
            return failure();
          if (*mapping) {
            ++numMapped;
            numClaiming += (*mapping)->mayClaim;
            numPartitioned += (*mapping)->isPartitioned;
            numPersistent += (*mapping)->isPersistent;
          }
          return success();
        })))
      return signalPassFailure();
    if (mode == options::Mode::Dynamic && numMapped > 0 && numClaiming == 0)
      getOperation().emitRemark("no kernel has CTAs that claim tiles: none has "
                                "a group that loads tiles for others");
  }
};
} // namespace
