//===- InsertFences.cpp - fences behind accesses by threads ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Forward dataflow over structured control flow: which buffers has this group
// written through the generic proxy, without a fence since, that the async
// proxy will touch; which has it read that the async proxy will write; and
// where its threads last met behind that. The fence belongs in front of the
// last meeting before the access, or what lets it begin, becomes possible.
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fa3::hopper {
#define GEN_PASS_DEF_INSERTFENCES
#include "fa3/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace fa3::hopper

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

namespace {
/// Buffers with an access that has no fence behind it, and where the threads of
/// the group last met after it: null if they have not.
using Meetings = llvm::SmallPtrSet<Operation *, 2>;
using Accesses = llvm::SmallMapVector<Value, Meetings, 4>;

/// What threads have touched since the last fence.
struct Dirty {
  Accesses written, read;

  size_t size() const {
    size_t count = 0;
    for (const Accesses *accesses : {&written, &read})
      for (const auto &[buffer, meetings] : *accesses)
        count += meetings.size();
    return count;
  }
  void unite(const Dirty &other) {
    for (const auto &[buffer, meetings] : other.written)
      written[buffer].insert_range(meetings);
    for (const auto &[buffer, meetings] : other.read)
      read[buffer].insert_range(meetings);
  }
};

class FenceAnalysis {
public:
  /// Finds what the async proxy does to every buffer, and who waits for whom.
  LogicalResult collect(gpu::GPUFuncOp function);
  /// Finds where fences are needed.
  void visit(Block &block, Dirty &dirty);
  /// Operations that need a fence in front of them, and whether it has to be
  /// one between the proxies.
  const llvm::MapVector<Operation *, bool> &getPoints() const { return points; }

private:
  void visit(Operation *op, Dirty &dirty);
  void visitRegions(Operation *op, Dirty &dirty);
  /// Fences what `op` lets the async proxy reach.
  void fenceBefore(Operation *op, Dirty &dirty);
  /// Whether an async access to the buffer, or one that writes it, is `op` or
  /// may begin once it has been executed.
  bool letsAccess(Operation *op, Value buffer, bool onlyWrites) const;
  bool arrivalLetsAccess(Operation *arrival, Value barrier, Value buffer,
                         bool onlyWrites) const;

  /// Groups whose threads issue async accesses, or wait for a barrier; null
  /// stands for the kernel outside of groups.
  using Groups = llvm::SmallPtrSet<Operation *, 4>;
  llvm::DenseMap<Value, Groups> touching, writing, waiting;
  llvm::MapVector<Operation *, bool> points;
};
} // namespace

/// The buffer behind a descriptor, null if control flow hides it.
static Value getBuffer(Value desc) {
  auto op = desc.getDefiningOp<DescOp>();
  return op ? Value(op.getBuffer()) : Value();
}

static warp::GroupOp getGroup(Operation *op) {
  return op->getParentOfType<warp::GroupOp>();
}

LogicalResult FenceAnalysis::collect(gpu::GPUFuncOp function) {
  WalkResult result = function.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (isa<BufferType>(operand.getType()) &&
          !operand.getDefiningOp<AllocOp>()) {
        op->emitOpError("expects a buffer that is the result of a "
                        "'hopper.smem.alloc'");
        return WalkResult::interrupt();
      }
    Operation *group = getGroup(op);
    if (auto load = dyn_cast<TmaLoadOp>(op)) {
      touching[load.getBuffer()].insert(group);
      writing[load.getBuffer()].insert(group);
    }
    if (auto store = dyn_cast<TmaStoreOp>(op))
      touching[store.getBuffer()].insert(group);
    if (auto desc = dyn_cast<DescOp>(op))
      touching[desc.getBuffer()].insert(group);
    if (auto wait = dyn_cast<BarrierWaitOp>(op))
      waiting[wait.getBarrier()].insert(group);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Whoever waits for the barrier may issue the access. If nobody who touches
/// the buffer waits for an arrival of this group, one reaches them through
/// other groups: then it may be any.
bool FenceAnalysis::arrivalLetsAccess(Operation *arrival, Value barrier,
                                      Value buffer, bool onlyWrites) const {
  const auto &users = onlyWrites ? writing : touching;
  auto reaches = [&](Value other) {
    auto waiters = waiting.find(other);
    auto accessors = users.find(buffer);
    return waiters != waiting.end() && accessors != users.end() &&
           llvm::any_of(waiters->second, [&](Operation *group) {
             return accessors->second.contains(group);
           });
  };
  if (!barrier.getDefiningOp<BarrierAllocOp>() || reaches(barrier))
    return true;
  warp::GroupOp group = getGroup(arrival);
  if (!group)
    return true;
  WalkResult direct = group->walk([&](Operation *op) {
    if (auto arrive = dyn_cast<BarrierArriveOp>(op))
      return WalkResult(failure(reaches(arrive.getBarrier())));
    if (auto expect = dyn_cast<BarrierExpectTxOp>(op))
      return WalkResult(failure(reaches(expect.getBarrier())));
    return WalkResult::advance();
  });
  return !direct.wasInterrupted();
}

bool FenceAnalysis::letsAccess(Operation *op, Value buffer,
                               bool onlyWrites) const {
  if (auto arrive = dyn_cast<BarrierArriveOp>(op))
    return arrivalLetsAccess(op, arrive.getBarrier(), buffer, onlyWrites);
  if (auto expect = dyn_cast<BarrierExpectTxOp>(op))
    return arrivalLetsAccess(op, expect.getBarrier(), buffer, onlyWrites);
  if (isa<NamedBarrierArriveOp, gpu::BarrierOp>(op))
    return true;
  // Threads of other groups meet there, too.
  if (auto sync = dyn_cast<NamedBarrierSyncOp>(op)) {
    warp::GroupOp group = getGroup(op);
    return !group ||
           sync.getThreads() != group.getWarps() * kSm90a.threadsPerWarp;
  }
  if (auto load = dyn_cast<TmaLoadOp>(op))
    return load.getBuffer() == buffer;
  if (onlyWrites)
    return false;
  if (auto store = dyn_cast<TmaStoreOp>(op))
    return store.getBuffer() == buffer;
  if (auto mma = dyn_cast<WgmmaOp>(op))
    return llvm::any_of(ValueRange{mma.getLhs(), mma.getRhs()}, [&](Value v) {
      if (!isa<DescType>(v.getType()))
        return false;
      Value operand = getBuffer(v);
      return !operand || operand == buffer;
    });
  return false;
}

void FenceAnalysis::fenceBefore(Operation *op, Dirty &dirty) {
  Meetings fenced, betweenProxies;
  auto collectPlaces = [&](const Accesses &accesses, bool areReads) {
    for (const auto &[buffer, meetings] : accesses) {
      if (!letsAccess(op, buffer, /*onlyWrites=*/areReads))
        continue;
      fenced.insert_range(meetings);
      if (!areReads)
        betweenProxies.insert_range(meetings);
    }
  };
  collectPlaces(dirty.written, /*areReads=*/false);
  collectPlaces(dirty.read, /*areReads=*/true);
  for (Operation *meeting : fenced)
    points[meeting ? meeting : op] |= betweenProxies.contains(meeting);
  // A fence serves all accesses in front of it.
  auto removeFenced = [](Accesses &accesses, const Meetings &places) {
    accesses.remove_if([&](const auto &entry) {
      return llvm::all_of(entry.second, [&](Operation *meeting) {
        return places.contains(meeting);
      });
    });
  };
  removeFenced(dirty.written, betweenProxies);
  removeFenced(dirty.read, fenced);
}

void FenceAnalysis::visit(Operation *op, Dirty &dirty) {
  fenceBefore(op, dirty);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](FenceProxyAsyncOp) { dirty = {}; })
      .Case([&](FenceAcqRelOp) { dirty.read.clear(); })
      .Case<NamedBarrierSyncOp, gpu::BarrierOp>([&](auto) {
        for (Accesses *accesses : {&dirty.written, &dirty.read})
          for (auto &[buffer, meetings] : *accesses)
            meetings = {op};
      })
      .Case([&](SmemStoreOp store) {
        if (touching.contains(store.getBuffer()))
          dirty.written[store.getBuffer()] = {nullptr};
      })
      .Case([&](SmemLoadOp load) {
        if (writing.contains(load.getBuffer()))
          dirty.read[load.getBuffer()] = {nullptr};
      })
      .Default([&](Operation *other) {
        if (other->getNumRegions() != 0)
          visitRegions(other, dirty);
      });
}

void FenceAnalysis::visit(Block &block, Dirty &dirty) {
  for (Operation &op : block)
    visit(&op, dirty);
}

/// Regions of a loop run any number of times and in any order; of the regions
/// of another operation one runs, or none if one of them is empty.
void FenceAnalysis::visitRegions(Operation *op, Dirty &dirty) {
  if (isa<warp::SpecializeOp>(op)) {
    for (auto group : op->getRegion(0).getOps<warp::GroupOp>()) {
      Dirty own = dirty;
      visit(*group.getBodyBlock(), own);
    }
    return;
  }
  auto visitRegion = [&](Region &region, Dirty inside) {
    for (Block &block : region)
      visit(block, inside);
    return inside;
  };
  if (!isa<LoopLikeOpInterface>(op)) {
    Dirty after;
    for (Region &region : op->getRegions())
      after.unite(visitRegion(region, dirty));
    dirty = std::move(after);
    return;
  }
  size_t sizeBefore;
  do {
    sizeBefore = dirty.size();
    for (Region &region : op->getRegions())
      dirty.unite(visitRegion(region, dirty));
  } while (dirty.size() != sizeBefore);
}

namespace {
struct InsertFences : hopper::impl::InsertFencesBase<InsertFences> {
  void runOnOperation() override {
    FenceAnalysis analysis;
    if (failed(analysis.collect(getOperation())))
      return signalPassFailure();
    for (Block &block : getOperation().getBody()) {
      Dirty dirty;
      analysis.visit(block, dirty);
    }
    for (auto [op, betweenProxies] : analysis.getPoints()) {
      OpBuilder builder(op);
      if (betweenProxies) {
        FenceProxyAsyncOp::create(builder, op->getLoc());
        ++numFences;
      } else {
        FenceAcqRelOp::create(builder, op->getLoc());
        ++numReadFences;
      }
    }
  }
};
} // namespace
