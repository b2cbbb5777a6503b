//===- Schedule.cpp - tile-schedule ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Utils.h"
#include "LoopProblem.h"
#include "RingSizes.h"
#include "fa3/Dialect/Tile/Transforms/Transforms.h"
#include "fa3/Machine/RegisterModel.h"
#include "fa3/Scheduling/Solvers.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/MapVector.h"

namespace fa3::tile {
#define GEN_PASS_DEF_SCHEDULE
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

static bool isInnermostWith(scf::ForOp loop,
                            llvm::function_ref<bool(Operation *)> predicate) {
  bool found = false, inner = false;
  loop.getBody()->walk([&](Operation *op) {
    found |= predicate(op);
    inner |= isa<LoopLikeOpInterface>(op);
  });
  return found && !inner;
}

namespace {
/// When a reader asks for entries of a ring: the stage, and the position within
/// the step.
struct Demand {
  int64_t stage = 0, position = 0;
};
} // namespace

/// Loops that only fill rings run in the stages of their readers.
static LogicalResult
scheduleFillLoop(scf::ForOp loop,
                 const llvm::MapVector<Value, Demand> &demands) {
  LoopProblem instance(loop);
  if (failed(instance.build()))
    return failure();
  PipelineProblem &problem = instance.get();
  unsigned count = problem.getOperations().size();
  SmallVector<int64_t> stage(count, -1), asked(count, -1);
  int64_t least = std::numeric_limits<int64_t>::max(), greatest = 0;
  for (unsigned i = 0; i < count; ++i)
    if (auto acquire = dyn_cast<warp::AcquireOp>(instance.getOperation(i))) {
      auto it = demands.find(acquire.getRing());
      if (it == demands.end()) {
        stage[i] = 0;
      } else {
        stage[i] = it->second.stage;
        asked[i] = it->second.position;
      }
      least = std::min(least, stage[i]);
      greatest = std::max(greatest, stage[i]);
    }
  if (least >= greatest)
    return success();
  // Stages and demands spread from acquires to what uses the slot; what feeds
  // several happens in the first of them.
  auto spread = [&](SmallVectorImpl<int64_t> &value, int64_t otherwise) {
    for (unsigned i = 0; i < count; ++i)
      for (const auto &dep : problem.getDependences())
        if (dep.distance == 0 && dep.to == i)
          value[i] = std::max(value[i], value[dep.from]);
    for (unsigned i = count; i-- > 0;) {
      if (value[i] >= 0)
        continue;
      int64_t needed = otherwise;
      for (const auto &dep : problem.getDependences())
        if (dep.distance == 0 && dep.from == i)
          needed = std::min(needed, value[dep.to]);
      value[i] = needed;
    }
  };
  spread(stage, greatest);
  spread(asked, *llvm::max_element(asked));
  // In the order in which readers ask.
  SmallVector<unsigned> order(llvm::to_vector(llvm::seq<unsigned>(0, count)));
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return std::pair(asked[a], stage[a]) < std::pair(asked[b], stage[b]);
  });
  for (auto [position, i] : llvm::enumerate(order)) {
    problem.setStage(i, stage[i]);
    problem.setPosition(i, position);
  }
  if (std::optional<std::string> error = problem.verify())
    return loop.emitOpError("has no schedule that follows the readers of its "
                            "rings: ")
           << *error;
  instance.annotate();
  return success();
}

/// Whether an iteration is a whole tile, from several products to what it
/// stores, and carries none: two of them at a time would need the registers of
/// two tiles.
static bool isOverTiles(scf::ForOp loop) {
  Block &body = *loop.getBody();
  if (llvm::any_of(ValueRange(loop.getRegionIterArgs()).getTypes(),
                   llvm::IsaPred<PendingType, RankedTensorType>))
    return false;
  bool stores =
      !body.getOps<StoreOp>().empty() || !body.getOps<StoreAsyncOp>().empty();
  return stores && !llvm::hasSingleElement(body.getOps<DotAsyncOp>());
}

/// Whether element code of a step combines the results of two products neither
/// of which needs the other. Products of the next step would have to leave both
/// in registers while those of this one are worked on.
static bool combinesProducts(scf::ForOp loop) {
  using Products = llvm::SmallSetVector<Operation *, 4>;
  // What element code computes a value from, and what a product needs at all.
  llvm::DenseMap<Value, Products> sources;
  llvm::DenseMap<Operation *, Products> needs;
  for (Operation &op : *loop.getBody()) {
    if (auto await = dyn_cast<AwaitOp>(op)) {
      for (auto [kept, value] : llvm::zip(await.getKept(), await.getKeep()))
        sources[kept] = sources.lookup(value);
      if (auto dot = await.getPending().getDefiningOp<DotAsyncOp>())
        sources[await.getResult()].insert(dot);
      continue;
    }
    Products all;
    for (Value operand : op.getOperands())
      all.insert_range(sources.lookup(operand));
    if (isa<DotAsyncOp>(op)) {
      Products needed = all;
      for (Operation *product : all)
        needed.insert_range(needs.lookup(product));
      needs[&op] = needed;
      continue;
    }
    for (Value result : op.getResults())
      sources[result] = all;
    if (op.getNumOperands() < 2 || !OpTrait::hasElementwiseMappableTraits(&op))
      continue;
    for (Operation *one : all)
      for (Operation *two : all)
        if (one != two && !needs.lookup(one).contains(two) &&
            !needs.lookup(two).contains(one))
          return true;
  }
  return false;
}

/// Whether groups with different work compute: the element code of one runs
/// under the products of another. A second stage would take registers for
/// scores, and entries of rings that are held meanwhile, for what they do.
static bool hasOtherConsumers(scf::ForOp loop) {
  auto group = loop->getParentOfType<warp::GroupOp>();
  if (!group)
    return false;
  int64_t least = getChip(group).warpsPerWarpgroup;
  return llvm::any_of(
      group->getBlock()->getOps<warp::GroupOp>(), [&](warp::GroupOp other) {
        return other != group && int64_t(other.getWarps()) >= least;
      });
}

/// What a loop with late products keeps in registers and the estimate does not
/// count: of a loop around it or of a list, and of numbers of many columns.
static int64_t getUncountedRegisters(scf::ForOp loop) {
  const RegisterModel &model = getRegisterModel(getChip(loop));
  int64_t registers = 0;
  if (loop->getParentOfType<scf::ForOp>()) {
    bool startsAnywhere = !getConstantIntValue(loop.getLowerBound());
    registers = startsAnywhere && getConstantIntValue(loop.getUpperBound())
                    ? model.lateToConstant
                    : model.lateInLoop;
  } else if (receivesNumbers(loop)) {
    registers = model.lateInLoop;
  }
  return registers + (meetsWideNumbers(loop) ? model.lateWide : 0);
}

/// Whether ptxas finds registers for numbers of many columns in a loop with
/// late products: not beside coordinates that each step has anew, nor, where
/// any are used, beside products of short rows.
static bool hasRegistersForWide(scf::ForOp loop) {
  const RegisterModel &model = getRegisterModel(getChip(loop));
  auto owner = loop->getParentOfType<warp::GroupOp>();
  if (!owner || !usesCoordinates(owner))
    return true;
  return !changesCoordinates(loop) &&
         !getConstantIntValue(loop.getUpperBound()) &&
         llvm::all_of(
             loop.getBody()->getOps<DotAsyncOp>(), [&](DotAsyncOp dot) {
               return getTileType(dot.getRhs().getType()).getDimSize(1) >=
                      model.lateColumns;
             });
}

namespace {
struct Schedule : fa3::tile::impl::ScheduleBase<Schedule> {
  using ScheduleBase::ScheduleBase;

  void runOnOperation() override {
    if (stages < 0) {
      getOperation()->emitError("tile-schedule: expects stages of at least 0, "
                                "got ")
          << stages.getValue();
      return signalPassFailure();
    }
    solve = getPipelineSolver(options::getWord(solver.getValue()));
    if (failed(forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
          return schedule(kernel);
        })))
      signalPassFailure();
  }

  /// What a loop may spend registers on, the best first.
  SmallVector<LoopOrder> getOrders(scf::ForOp loop) {
    SmallVector<LoopOrder> orders;
    bool isOff = lateProducts == options::Choice::False ||
                 solver != options::Solver::List;
    bool refills = !isOff && isAwaited(loop);
    bool late = !isOff && canBeLate(loop);
    bool early = !isOff && canReadEarly(loop);
    if (late && early)
      orders.push_back({/*late=*/true, /*readsEarly=*/true, refills});
    if (late)
      orders.push_back({/*late=*/true, /*readsEarly=*/false, refills});
    if (late && lateProducts == options::Choice::True)
      return orders;
    if (early)
      orders.push_back({/*late=*/false, /*readsEarly=*/true, refills});
    orders.push_back({/*late=*/false, /*readsEarly=*/false, refills});
    return orders;
  }

  /// Whether the group of a scheduled loop has the registers for what
  /// tile-pipeline will make of it.
  static bool hasRegisters(gpu::GPUFuncOp kernel, scf::ForOp loop,
                           const LoopOrder &order) {
    // A list leaves ptxas no registers for numbers of many columns either.
    if (order.late && meetsWideNumbers(loop) &&
        (receivesNumbers(loop) || !hasRegistersForWide(loop)))
      return false;
    int64_t needed = order.late ? getUncountedRegisters(loop) : 0;
    IRMapping mapping;
    OwningOpRef<gpu::GPUFuncOp> copy(
        cast<gpu::GPUFuncOp>(kernel->clone(mapping)));
    auto copied = cast<scf::ForOp>(mapping.lookup(loop.getOperation()));
    auto group = copied->getParentOfType<warp::GroupOp>();
    return group && succeeded(pipelineLoop(copied)) &&
           getSpareRegisters(group) >= needed;
  }

  /// Gives the loop the best schedule that it has the registers for.
  LogicalResult schedule(gpu::GPUFuncOp kernel, scf::ForOp loop,
                         std::optional<LoopProblem> &instance) {
    SmallVector<LoopOrder> orders = getOrders(loop);
    for (const LoopOrder &order : orders) {
      instance.emplace(loop, order);
      if (failed(instance->build()))
        return failure();
      // Copies of the loop's own are a stage ahead of the products, products
      // that come late one behind.
      int64_t allStages = stages;
      if (stages == 0)
        allStages = combinesProducts(loop) || hasOtherConsumers(loop) ? 1 : 2;
      allStages += instance->hasOwnCopies() ? 1 : 0;
      allStages += instance->hasMeetings() ? 1 : 0;
      if (std::optional<std::string> error = solve(instance->get(), allStages))
        return loop.emitOpError("cannot be scheduled: ") << *error;
      instance->annotate();
      if (&order == &orders.back() || hasRegisters(kernel, loop, order))
        break;
    }
    return success();
  }

  LogicalResult schedule(gpu::GPUFuncOp kernel) {
    SmallVector<scf::ForOp> products, fills;
    kernel.walk([&](scf::ForOp loop) {
      if (isInnermostWith(loop, llvm::IsaPred<DotAsyncOp>)) {
        if (!isOverTiles(loop))
          products.push_back(loop);
      } else if (isInnermostWith(loop, llvm::IsaPred<LoadAsyncOp>) &&
                 llvm::none_of(loop.getBody()->getOps<warp::AcquireOp>(),
                               [](warp::AcquireOp acquire) {
                                 return acquire.getSide() == warp::Side::read;
                               })) {
        fills.push_back(loop);
      }
    });
    llvm::MapVector<Value, Demand> demands;
    for (scf::ForOp loop : products) {
      std::optional<LoopProblem> instance;
      if (failed(schedule(kernel, loop, instance)))
        return failure();
      if (print) {
        llvm::outs() << "// " << kernel.getName() << '\n';
        instance->get().print(llvm::outs());
      }
      ++numScheduled;
      for (auto [i, op] : llvm::enumerate(instance->get().getOperations()))
        if (auto acquire =
                dyn_cast<warp::AcquireOp>(instance->getOperation(i))) {
          Demand &demand = demands[acquire.getRing()];
          demand.stage = std::max(demand.stage, *op.stage);
          demand.position = std::max(demand.position, *op.position);
        }
    }
    for (scf::ForOp loop : fills)
      if (failed(scheduleFillLoop(loop, demands)))
        return failure();
    return success();
  }

  PipelineSolver solve = nullptr;
};
} // namespace
