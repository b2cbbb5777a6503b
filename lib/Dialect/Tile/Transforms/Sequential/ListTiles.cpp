//===- ListTiles.cpp - tile-list-tiles ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Which indices of a grid are listed, and which scalars with them. The kernels
// that make the list are in ListTilesKernels.cpp.
//
//===----------------------------------------------------------------------===//

#include "ListTiles.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"

namespace fa3::tile {
#define GEN_PASS_DEF_LISTTILES
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// Whether an operation computes scalars from scalars, or from memory that the
/// launch only reads.
static bool isScalarCode(Operation *op) {
  return isPure(op) && op->getNumRegions() == 0 &&
         llvm::all_of(op->getResultTypes(),
                      [](Type type) { return type.isIntOrIndexOrFloat(); });
}

bool ScalarSlice::add(Value value, GridOp grid) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    bool isIndex = argument.getOwner() == &grid.getBody().front();
    (isIndex ? indices : arguments).insert(argument.getArgNumber());
    return isIndex || argument.getOwner() == grid->getBlock();
  }
  Operation *op = value.getDefiningOp();
  if (ops.contains(op))
    return true;
  if (!isScalarCode(op) || !llvm::all_of(op->getOperands(), [&](Value operand) {
        return add(operand, grid);
      }))
    return false;
  ops.insert(op);
  return true;
}

bool ScalarSlice::readsMemory() const {
  return llvm::any_of(ops, llvm::IsaPred<ScalarLoadOp, SearchOp>);
}

bool ScalarSlice::readsAtIndices(GridOp grid) const {
  return llvm::any_of(ops, [&](Operation *op) {
    ScalarSlice ofLoad;
    return isa<ScalarLoadOp, SearchOp>(op) &&
           ofLoad.add(op->getResult(0), grid) && !ofLoad.indices.empty();
  });
}

//===----------------------------------------------------------------------===//
// Scalars of an entry
//===----------------------------------------------------------------------===//

/// The number of loads of memory, among `cone`, that wait for each other.
static int64_t countWaitingLoads(Operation *op,
                                 const llvm::SetVector<Operation *> &cone,
                                 llvm::DenseMap<Operation *, int64_t> &known) {
  if (!op || !cone.contains(op))
    return 0;
  auto it = known.find(op);
  if (it != known.end())
    return it->second;
  int64_t most = 0;
  for (Value operand : op->getOperands())
    most =
        std::max(most, countWaitingLoads(operand.getDefiningOp(), cone, known));
  // A search is two of them.
  return known[op] = most + isa<ScalarLoadOp>(op) + 2 * isa<SearchOp>(op);
}

/// What is computed for `root` alone, in the block of the grid: nobody else
/// takes a result of it.
static llvm::SetVector<Operation *> getCone(Operation *root) {
  llvm::SetVector<Operation *> cone;
  cone.insert(root);
  // Users come behind: backwards, each is known before what it takes.
  for (Operation *op = root->getPrevNode(); op; op = op->getPrevNode())
    if (isScalarCode(op) && llvm::all_of(op->getUsers(), [&](Operation *user) {
          return cone.contains(user);
        }))
      cone.insert(op);
  return cone;
}

/// Scalars that take loads which wait for each other, of which the rest of a
/// tile sees the result alone.
static SmallVector<Value> findScalars(const TileList &list) {
  constexpr int64_t kWaitingLoads = 2;
  SmallVector<Value> scalars;
  llvm::SetVector<Operation *> covered;
  auto isListed = [&](unsigned index) {
    return llvm::is_contained(list.indices, index);
  };
  GridOp grid = list.grid;
  for (Operation &op : llvm::reverse(grid.getBody().front())) {
    ScalarSlice slice;
    if (covered.contains(&op) || !isScalarCode(&op) ||
        op.getNumResults() != 1 || op.use_empty() ||
        !(op.getResult(0).getType().isIndex() ||
          op.getResult(0).getType().isInteger(32)) ||
        !slice.add(op.getResult(0), grid) || slice.indices.empty() ||
        !llvm::all_of(slice.indices, isListed))
      continue;
    llvm::SetVector<Operation *> cone = getCone(&op);
    llvm::DenseMap<Operation *, int64_t> known;
    if (countWaitingLoads(&op, cone, known) < kWaitingLoads)
      continue;
    scalars.push_back(op.getResult(0));
    covered.insert(cone.begin(), cone.end());
  }
  return scalars;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ListTiles : fa3::tile::impl::ListTilesBase<ListTiles> {
  using ListTilesBase::ListTilesBase;

  void runOnOperation() override {
    if (order != options::Order::List && order != options::Order::Auto)
      return;
    SmallVector<LaunchOp> launches;
    getOperation().walk([&](LaunchOp launch) { launches.push_back(launch); });
    SmallVector<gpu::GPUFuncOp> kernels;
    getOperation().walk([&](gpu::GPUFuncOp kernel) {
      if (kernel.isKernel())
        kernels.push_back(kernel);
    });
    for (gpu::GPUFuncOp kernel : kernels)
      if (failed(transform(kernel, launches)))
        return signalPassFailure();
  }

  LogicalResult transform(gpu::GPUFuncOp kernel, ArrayRef<LaunchOp> launches);
};
} // namespace

/// Whether the loop takes as many steps in all tiles, wherever it starts.
static bool isAlike(scf::ForOp loop, GridOp grid) {
  auto end = loop.getUpperBound().getDefiningOp<arith::AddIOp>();
  Value start = loop.getLowerBound();
  if (!end || (end.getLhs() != start && end.getRhs() != start))
    return false;
  ScalarSlice length;
  return length.add(end.getLhs() == start ? end.getRhs() : end.getLhs(),
                    grid) &&
         length.indices.empty();
}

/// Finds the indices that decide, by way of memory, how many steps loops take.
static void findIndices(TileList &list) {
  bool isInMemory = false;
  llvm::SetVector<unsigned> indices;
  list.grid.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
    ScalarSlice bounds;
    if (!bounds.add(loop.getLowerBound(), list.grid) ||
        !bounds.add(loop.getUpperBound(), list.grid) ||
        !bounds.add(loop.getStep(), list.grid) || bounds.indices.empty() ||
        isAlike(loop, list.grid))
      return;
    isInMemory |= bounds.readsAtIndices(list.grid);
    list.loops.push_back(loop);
    indices.insert(bounds.indices.begin(), bounds.indices.end());
  });
  if (isInMemory)
    list.indices = llvm::to_vector(indices);
  llvm::sort(list.indices);
}

/// Why the tiles of a grid are not listed; null if they are.
static const char *findObstacle(TileList &list, ArrayRef<LaunchOp> launches) {
  for (LaunchOp launch : launches) {
    if (SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernelAttr()) !=
        list.kernel)
      continue;
    if (list.launch)
      return "several launches have it";
    list.launch = launch;
  }
  if (!list.launch)
    return "nothing launches it";
  ScalarSlice bounds;
  for (Value bound : list.grid.getUpperBounds())
    if (!bounds.add(bound, list.grid))
      return "the grid's bounds are not those of the launch";
  if (bounds.readsMemory())
    return "the grid's bounds are in memory";
  findIndices(list);
  if (list.indices.empty())
    return "no bound of a loop depends on the grid by way of memory";
  return nullptr;
}

/// Whether the tiles are listed without being asked for: steps, which memory
/// says, are long beside the kernels that make the list, and few tiles are told
/// apart. That is so of gradients over listed blocks, if all heads share them.
static bool isWorthListing(const TileList &list) {
  auto readsStep = [](scf::ForOp loop) {
    return llvm::any_of(
        loop.getBody()->getOps<ScalarLoadOp>(), [&](ScalarLoadOp load) {
          ScalarSlice slice;
          return !slice.add(load.getResult(), load->getParentOfType<GridOp>());
        });
  };
  bool adds = list.kernel
                  ->walk([](StoreOp store) {
                    return WalkResult(failure(store.getAdd()));
                  })
                  .wasInterrupted();
  return adds && list.indices.size() == 1 &&
         llvm::any_of(list.loops, readsStep);
}

/// Lets the grid go over entries of the list, the last argument of the kernel.
static void useList(TileList &list, Value array) {
  GridOp grid = list.grid;
  ImplicitLocOpBuilder b(grid.getLoc(), grid);
  Value entries;
  SmallVector<Value> bounds = {Value()};
  for (auto [number, bound] : llvm::enumerate(grid.getUpperBounds()))
    if (!llvm::is_contained(list.indices, number))
      bounds.push_back(bound);
    else
      entries = entries ? arith::MulIOp::create(b, entries, bound) : bound;
  bounds[0] = entries;
  auto listed = GridOp::create(b, bounds);
  Block &body = grid.getBody().front(), &newBody = listed.getBody().front();
  newBody.getTerminator()->erase();
  newBody.getOperations().splice(newBody.end(), body.getOperations());
  b.setInsertionPointToStart(&newBody);
  auto load = [&](int64_t field) -> Value {
    return ScalarLoadOp::create(
        b, b.getI32Type(), array,
        ValueRange{newBody.getArgument(0),
                   arith::ConstantIndexOp::create(b, field)});
  };
  auto loadIndex = [&](int64_t field) -> Value {
    return arith::IndexCastOp::create(b, b.getIndexType(), load(field));
  };
  unsigned other = 1;
  for (auto [number, index] : llvm::enumerate(body.getArguments())) {
    auto *place = llvm::find(list.indices, number);
    index.replaceAllUsesWith(
        place == list.indices.end()
            ? Value(newBody.getArgument(other++))
            : loadIndex(std::distance(list.indices.begin(), place)));
  }
  for (auto [number, scalar] : llvm::enumerate(list.scalars)) {
    int64_t field = list.indices.size() + number;
    scalar.replaceAllUsesWith(scalar.getType().isIndex() ? loadIndex(field)
                                                         : load(field));
  }
  grid.erase();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(newBody)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

LogicalResult ListTiles::transform(gpu::GPUFuncOp kernel,
                                   ArrayRef<LaunchOp> launches) {
  auto grids = kernel.getBody().front().getOps<GridOp>();
  // tile-map-grid refuses several.
  if (!llvm::hasSingleElement(grids))
    return success();
  bool isAsked = order == options::Order::List;
  TileList list;
  list.kernel = kernel;
  list.grid = *grids.begin();
  if (const char *obstacle = findObstacle(list, launches)) {
    if (isAsked)
      kernel.emitRemark("its tiles are in no list: ") << obstacle;
    return success();
  }
  if (!isAsked && !isWorthListing(list))
    return success();
  list.scalars = findScalars(list);
  // An entry is stored at once.
  if (list.getNumFields() > kMostListFields)
    list.scalars.truncate(kMostListFields - list.indices.size());
  Value array = buildTileList(list);
  unsigned position = kernel.getNumArguments();
  if (failed(kernel.insertArgument(position, array.getType(), DictionaryAttr(),
                                   kernel.getLoc())))
    return failure();
  list.launch.getKernelArgsMutable().append(array);
  useList(list, kernel.getArgument(position));
  ++numLists;
  numScalars += list.scalars.size();
  return success();
}
