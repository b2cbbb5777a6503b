//===- Schedule.cpp - tile-schedule ---------------------------------------===//

#include "Utils.h"
#include "fa3/Dialect/Tile/Analysis/Resources.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "fa3/Scheduling/Solvers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"

namespace fa3::tile {
#define GEN_PASS_DEF_SCHEDULE
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;
using Kind = PipelineProblem::Kind;

namespace {
/// The problem of one loop, and the operations behind its numbers.
class LoopProblem {
public:
  explicit LoopProblem(scf::ForOp loop) : loop(loop) {}

  /// Fills the instance. Fails with an error on what cannot be scheduled.
  LogicalResult build();
  PipelineProblem &get() { return problem; }
  /// Whether the loop waits for copies that it makes itself.
  bool hasOwnCopies() const { return ownCopies; }
  /// The first of those behind a number.
  Operation *getOperation(unsigned i) const { return operations[i].front(); }
  void annotate();

private:
  Kind classify(Operation *op);
  /// Gives every operation a number. Products that add to each other have one:
  /// a schedule may not tear them apart.
  void number();
  LogicalResult addDependences(Operation *op);
  LogicalResult addDataDependences(Operation *op);
  void addSlotDependences(ViewOp view);
  void addReleaseDependences(flow::ReleaseOp release);
  void addArrivalDependences(flow::AcquireOp acquire);
  void addRegisterHazard(DotAsyncOp dot);
  void addTimes();
  void depend(Operation *from, Operation *to, unsigned distance);

  scf::ForOp loop;
  bool ownCopies = false;
  PipelineProblem problem;
  SmallVector<SmallVector<Operation *, 1>> operations;
  llvm::DenseMap<Operation *, unsigned> numbers;
};
} // namespace

/// The publications of the loop's body for the entry that is read.
static SmallVector<flow::PublishOp> findPublications(flow::AcquireOp acquire) {
  SmallVector<flow::PublishOp> publications;
  if (acquire.getSide() == flow::Side::read)
    for (auto publish : acquire->getBlock()->getOps<flow::PublishOp>()) {
      auto filled = publish.getSlot().getDefiningOp<flow::AcquireOp>();
      if (filled && filled.getRing() == acquire.getRing())
        publications.push_back(publish);
    }
  return publications;
}

/// The copies into the slot that is handed over.
static SmallVector<LoadAsyncOp> findCopies(flow::PublishOp publish) {
  SmallVector<LoadAsyncOp> copies;
  for (Operation *user : publish.getSlot().getUsers())
    if (auto view = dyn_cast<ViewOp>(user))
      for (Operation *access : view->getUsers())
        if (auto copy = dyn_cast<LoadAsyncOp>(access))
          copies.push_back(copy);
  return copies;
}

Kind LoopProblem::classify(Operation *op) {
  if (isa<DotAsyncOp>(op))
    return Kind::Issue;
  if (isa<LoadAsyncOp>(op))
    return Kind::Copy;
  // Copies are handed over as they are issued.
  if (auto publish = dyn_cast<flow::PublishOp>(op))
    return findCopies(publish).empty() ? Kind::Compute : Kind::Copy;
  if (auto acquire = dyn_cast<flow::AcquireOp>(op))
    if (llvm::any_of(findPublications(acquire), [](flow::PublishOp publish) {
          return !findCopies(publish).empty();
        })) {
      ownCopies = true;
      return Kind::Arrival;
    }
  if (isa<AwaitOp>(op))
    return Kind::Wait;
  if (auto release = dyn_cast<flow::ReleaseOp>(op)) {
    for (Value token : release.getAfter())
      if (auto dot = token.getDefiningOp<DotAsyncOp>();
          dot && dot->getBlock() == op->getBlock() && !findAwait(dot))
        return Kind::DeferredWait;
    return Kind::Free;
  }
  if (isa<BroadcastOp, tensor::SplatOp>(op))
    return Kind::Spread;
  return Kind::Compute;
}

void LoopProblem::depend(Operation *from, Operation *to, unsigned distance) {
  auto source = numbers.find(from), target = numbers.find(to);
  if (source != numbers.end() && target != numbers.end() &&
      source->second != target->second)
    problem.addDependence(source->second, target->second, distance);
}

/// Follows the operands of an operation and of everything inside it.
LogicalResult LoopProblem::addDataDependences(Operation *op) {
  WalkResult result = op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      if (Operation *def = operand.getDefiningOp()) {
        depend(def, op, 0);
        continue;
      }
      auto argument = cast<BlockArgument>(operand);
      if (argument.getOwner() != loop.getBody() ||
          argument == loop.getInductionVar())
        continue;
      Value yielded = loop.getBody()->getTerminator()->getOperand(
          argument.getArgNumber() - 1);
      if (Operation *def = yielded.getDefiningOp())
        depend(def, op, 1);
      else if (yielded.getParentBlock() == loop.getBody() &&
               yielded != argument) {
        loop.emitOpError("carries a value over more than one iteration, which "
                         "cannot be pipelined");
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Where a tile that was read meets another: what converts it alone on the way
/// is done with the use.
static Operation *findMeeting(ReadOp read) {
  Operation *op = read;
  while (op->hasOneUse()) {
    Operation *user = *op->getUsers().begin();
    if (!isElementwise(user) || user->getBlock() != read->getBlock())
      break;
    op = user;
    if (op->getNumOperands() > 1)
      break;
  }
  return op;
}

/// The memory of a slot is used before the slot is given away. Tiles for
/// element code are used as they are read, a few registers at a time: the slot
/// is kept until then, or the read would come as early as the slot can be
/// released.
void LoopProblem::addSlotDependences(ViewOp view) {
  for (Operation *end : view.getSlot().getUsers()) {
    if (!isa<flow::PublishOp, flow::ReleaseOp>(end))
      continue;
    for (Operation *user : view.getView().getUsers()) {
      auto read = dyn_cast<ReadOp>(user);
      depend(loop.getBody()->findAncestorOpInBlock(*user), end, 0);
      if (read && read->getBlock() == loop.getBody())
        depend(findMeeting(read), end, 0);
    }
  }
}

/// A release behind the await of its product waits for nothing further.
void LoopProblem::addReleaseDependences(flow::ReleaseOp release) {
  for (Value token : release.getAfter())
    if (auto dot = token.getDefiningOp<DotAsyncOp>())
      if (AwaitOp await = findAwait(dot))
        depend(await, release, 0);
}

/// What the loop itself publishes comes before the read of it, and copies take
/// their time.
void LoopProblem::addArrivalDependences(flow::AcquireOp acquire) {
  for (flow::PublishOp publish : findPublications(acquire)) {
    depend(publish, acquire, 0);
    for (LoadAsyncOp copy : findCopies(publish))
      depend(copy, acquire, 0);
  }
}

/// A left operand in registers is read until the product is awaited: the next
/// iteration's may not be made before that.
void LoopProblem::addRegisterHazard(DotAsyncOp dot) {
  AwaitOp await = findAwait(dot);
  if (await && isa<RankedTensorType>(dot.getLhs().getType()) &&
      dot.getLhs().getDefiningOp())
    depend(await, dot.getLhs().getDefiningOp(), 1);
}

/// Units and latencies of one replica that has the multiprocessor for itself:
/// others, at other phases of the same schedule, fill what is left.
void LoopProblem::addTimes() {
  constexpr int64_t kThreadsPerWarp = 32, kWarps = 4;
  auto group = loop->getParentOfType<flow::GroupOp>();
  int64_t warps = group ? group.getWarps() : kWarps;
  // The stream is that of the replica's own instructions, which start in order.
  unsigned stream = problem.addUnit("stream"),
           tensor = problem.addUnit("tensor");
  for (auto [i, parts] : llvm::enumerate(operations)) {
    ResourceUse use;
    for (Operation *op : parts) {
      ResourceUse part = getResourceUse(op, warps * kThreadsPerWarp);
      use.issue += part.issue;
      use.special += part.special;
      use.latency = use.tensor + part.latency;
      use.tensor += part.tensor;
    }
    if (int64_t cycles = std::max(use.issue, use.special))
      problem.addUse(i, stream, cycles);
    if (use.tensor)
      problem.addUse(i, tensor, use.tensor);
    problem.setLatency(i, use.latency);
  }
}

void LoopProblem::number() {
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto dot = dyn_cast<DotAsyncOp>(op)) {
      auto before = dot.getAcc().getDefiningOp<DotAsyncOp>();
      if (before && findNextInChain(before) == dot) {
        unsigned shared = numbers.lookup(before);
        numbers[&op] = shared;
        operations[shared].push_back(&op);
        continue;
      }
    }
    std::string name = op.getName().getStringRef().str();
    numbers[&op] = problem.addOperation(name, classify(&op));
    operations.push_back({&op});
  }
}

LogicalResult LoopProblem::addDependences(Operation *op) {
  if (failed(addDataDependences(op)))
    return failure();
  if (auto view = dyn_cast<ViewOp>(op))
    addSlotDependences(view);
  else if (auto release = dyn_cast<flow::ReleaseOp>(op))
    addReleaseDependences(release);
  else if (auto acquire = dyn_cast<flow::AcquireOp>(op))
    addArrivalDependences(acquire);
  else if (auto dot = dyn_cast<DotAsyncOp>(op))
    addRegisterHazard(dot);
  return success();
}

LogicalResult LoopProblem::build() {
  number();
  Operation *lastEffect = nullptr;
  for (Operation &body : loop.getBody()->without_terminator()) {
    Operation *op = &body;
    if (failed(addDependences(op)))
      return failure();
    // Effects that nothing above orders keep the order of the program.
    if (isa<flow::AcquireOp, flow::PublishOp, flow::ReleaseOp, DotAsyncOp,
            LoadAsyncOp, AwaitOp>(op) ||
        isMemoryEffectFree(op))
      continue;
    if (lastEffect)
      depend(lastEffect, op, 0);
    lastEffect = op;
  }
  addTimes();
  return success();
}

void LoopProblem::annotate() {
  SmallVector<unsigned> order(
      llvm::to_vector(llvm::seq<unsigned>(0, operations.size())));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return *problem.getOperations()[a].position <
           *problem.getOperations()[b].position;
  });
  int64_t position = 0;
  for (unsigned i : order)
    for (Operation *op : operations[i])
      op->setAttr(TileDialect::kSlottingAttrName,
                  SlottingAttr::get(loop.getContext(),
                                    *problem.getOperations()[i].stage,
                                    position++));
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

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
    if (auto acquire = dyn_cast<flow::AcquireOp>(instance.getOperation(i))) {
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
/// stores: two of them at a time would need the registers of two tiles.
static bool isOverTiles(scf::ForOp loop) {
  Block &body = *loop.getBody();
  bool stores =
      !body.getOps<StoreOp>().empty() || !body.getOps<StoreAsyncOp>().empty();
  return stores && !llvm::hasSingleElement(body.getOps<DotAsyncOp>());
}

namespace {
struct Schedule : fa3::tile::impl::ScheduleBase<Schedule> {
  using ScheduleBase::ScheduleBase;

  void runOnOperation() override {
    if (stages < 1) {
      getOperation()->emitError("tile-schedule: expects at least 1 stage, got ")
          << stages.getValue();
      return signalPassFailure();
    }
    solve = getPipelineSolver(solver);
    if (!solve) {
      getOperation()->emitError("tile-schedule: expects 'list' or 'modulo' as "
                                "solver, got '")
          << solver.getValue() << "'";
      return signalPassFailure();
    }
    if (failed(forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
          return schedule(kernel);
        })))
      signalPassFailure();
  }

  LogicalResult schedule(gpu::GPUFuncOp kernel) {
    SmallVector<scf::ForOp> products, fills;
    kernel.walk([&](scf::ForOp loop) {
      if (isInnermostWith(loop, llvm::IsaPred<DotAsyncOp>)) {
        if (!isOverTiles(loop))
          products.push_back(loop);
      } else if (isInnermostWith(loop, llvm::IsaPred<LoadAsyncOp>) &&
                 llvm::none_of(loop.getBody()->getOps<flow::AcquireOp>(),
                               [](flow::AcquireOp acquire) {
                                 return acquire.getSide() == flow::Side::read;
                               })) {
        fills.push_back(loop);
      }
    });
    llvm::MapVector<Value, Demand> demands;
    for (scf::ForOp loop : products) {
      LoopProblem instance(loop);
      if (failed(instance.build()))
        return failure();
      // Copies of the loop's own are a stage ahead of the products.
      int64_t allStages = stages + (instance.hasOwnCopies() ? 1 : 0);
      if (std::optional<std::string> error = solve(instance.get(), allStages))
        return loop.emitOpError("cannot be scheduled: ") << *error;
      if (print) {
        llvm::outs() << "// " << kernel.getName() << '\n';
        instance.get().print(llvm::outs());
      }
      instance.annotate();
      ++numScheduled;
      for (auto [i, op] : llvm::enumerate(instance.get().getOperations()))
        if (auto acquire =
                dyn_cast<flow::AcquireOp>(instance.getOperation(i))) {
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
