//===- MapGrid.cpp - tile-map-grid ----------------------------------------===//

#include "Utils.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
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
    if (argument.getOwner() != &kernel.getBody().front())
      return kernel.emitOpError("has a grid bound that depends on a loop");
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

static Value product(ImplicitLocOpBuilder &b, ValueRange values) {
  Value result = values.front();
  for (Value value : values.drop_front())
    result = arith::MulIOp::create(b, result, value);
  return result;
}

/// Grid indices of tile number `id`, in the given order of speed (fastest
/// first).
static SmallVector<Value> decode(ImplicitLocOpBuilder &b, Value id,
                                 ValueRange bounds, ArrayRef<unsigned> order) {
  SmallVector<Value> indices(bounds.size());
  for (auto [position, dim] : llvm::enumerate(order)) {
    if (position + 1 == order.size()) {
      indices[dim] = id;
      break;
    }
    indices[dim] = arith::RemUIOp::create(b, id, bounds[dim]);
    id = arith::DivUIOp::create(b, id, bounds[dim]);
  }
  return indices;
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

namespace {
struct MapGrid : fa3::tile::impl::MapGridBase<MapGrid> {
  using MapGridBase::MapGridBase;

  void runOnOperation() override {
    if (mode != "cta" && mode != "static") {
      getOperation().emitError("tile-map-grid: expects mode 'cta' or 'static', "
                               "got '")
          << mode << "'";
      return signalPassFailure();
    }
    if (order != "auto" && order != "rows" && order != "longest-first") {
      getOperation().emitError("tile-map-grid: expects order 'auto', 'rows' or "
                               "'longest-first', got '")
          << order << "'";
      return signalPassFailure();
    }
    SmallVector<LaunchOp> launches;
    getOperation().walk([&](LaunchOp launch) { launches.push_back(launch); });
    if (failed(forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
          return map(kernel, launches);
        })))
      signalPassFailure();
  }

  LogicalResult map(gpu::GPUFuncOp kernel, ArrayRef<LaunchOp> launches);
};
} // namespace

LogicalResult MapGrid::map(gpu::GPUFuncOp kernel, ArrayRef<LaunchOp> launches) {
  auto grids = kernel.getBody().front().getOps<GridOp>();
  if (grids.empty())
    return success();
  GridOp grid = *grids.begin();
  if (!llvm::hasSingleElement(grids))
    return kernel.emitOpError("expects one 'tile.grid' in a kernel");
  bool persistent = mode == "static";
  bool longestFirst = order == "longest-first" ||
                      (order == "auto" && workDependsOnFirstIndex(grid));

  // Host: the number of blocks.
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
    if (persistent)
      blocks = arith::MinUIOp::create(b, blocks, ProcessorsOp::create(b));
    launch.getBlocksMutable().assign(blocks);
  }

  // Kernel: tile numbers.
  ImplicitLocOpBuilder b(grid.getLoc(), grid);
  Value id = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  if (persistent) {
    Value tiles = product(b, grid.getUpperBounds());
    Value step = gpu::GridDimOp::create(b, gpu::Dimension::x);
    auto loop = scf::ForOp::create(b, id, tiles, step);
    id = loop.getInductionVar();
    b.setInsertionPointToStart(loop.getBody());
  }
  SmallVector<unsigned> fastestFirst;
  for (unsigned i = 0; i < grid.getUpperBounds().size(); ++i)
    fastestFirst.push_back(i);
  if (longestFirst)
    std::rotate(fastestFirst.begin(), fastestFirst.begin() + 1,
                fastestFirst.end());
  SmallVector<Value> indices =
      decode(b, id, grid.getUpperBounds(), fastestFirst);
  if (longestFirst) {
    Value one = arith::ConstantIndexOp::create(b, 1);
    Value last = arith::SubIOp::create(b, grid.getUpperBounds()[0], one);
    indices[0] = arith::SubIOp::create(b, last, indices[0]);
  }
  grid.getBody().front().getTerminator()->erase();
  Block *block = b.getInsertionBlock();
  Block &body = grid.getBody().front();
  for (auto [argument, value] : llvm::zip(body.getArguments(), indices))
    argument.replaceAllUsesWith(value);
  block->getOperations().splice(b.getInsertionPoint(), body.getOperations());
  grid.erase();
  return success();
}
