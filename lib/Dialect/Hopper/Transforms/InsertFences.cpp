//===- InsertFences.cpp - fences between the proxies ----------------------===//
//
// Forward dataflow over structured control flow: which buffers has this group
// written through the generic proxy, without a fence since, that the async
// proxy will touch, and which has it read that the async proxy will write.
//
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetOperations.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fa3::hopper {
#define GEN_PASS_DEF_INSERTFENCES
#include "fa3/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace fa3::hopper

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

namespace {
using Buffers = llvm::SmallDenseSet<Value, 4>;

/// What threads have touched since the last fence.
struct Dirty {
  Buffers written, read;

  bool empty() const { return written.empty() && read.empty(); }
  size_t size() const { return written.size() + read.size(); }
  bool contains(Value buffer) const {
    return written.contains(buffer) || read.contains(buffer);
  }
  void unite(const Dirty &other) {
    llvm::set_union(written, other.written);
    llvm::set_union(read, other.read);
  }
};

class FenceAnalysis {
public:
  /// Finds what the async proxy does to every buffer.
  LogicalResult collect(gpu::GPUFuncOp function);
  /// Finds where fences are needed.
  void visit(Block &block, Dirty &dirty);
  /// Whether a fence between the proxies is needed before an operation, or
  /// only one of reads.
  const llvm::MapVector<Operation *, bool> &getPoints() const { return points; }

private:
  void visit(Operation *op, Dirty &dirty);
  void visitRegions(Operation *op, Dirty &dirty);
  /// Whether an async access that follows `op` closely would see a buffer of
  /// `dirty` as the generic proxy left it.
  bool needsFence(Operation *op, const Dirty &dirty) const;

  Buffers touchedAsync, writtenAsync;
  llvm::MapVector<Operation *, bool> points;
};
} // namespace

/// The buffer behind a descriptor, null if control flow hides it.
static Value getBuffer(Value desc) {
  auto op = desc.getDefiningOp<DescOp>();
  return op ? Value(op.getBuffer()) : Value();
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
    if (auto load = dyn_cast<TmaLoadOp>(op)) {
      touchedAsync.insert(load.getBuffer());
      writtenAsync.insert(load.getBuffer());
    }
    if (auto store = dyn_cast<TmaStoreOp>(op))
      touchedAsync.insert(store.getBuffer());
    if (auto desc = dyn_cast<DescOp>(op))
      touchedAsync.insert(desc.getBuffer());
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

bool FenceAnalysis::needsFence(Operation *op, const Dirty &dirty) const {
  if (dirty.empty())
    return false;
  // What lets another thread, or the async proxy on its behalf, go on.
  if (isa<NamedBarrierSyncOp, NamedBarrierArriveOp, BarrierArriveOp,
          BarrierExpectTxOp, gpu::BarrierOp>(op))
    return true;
  if (auto load = dyn_cast<TmaLoadOp>(op))
    return dirty.contains(load.getBuffer());
  if (auto store = dyn_cast<TmaStoreOp>(op))
    return dirty.written.contains(store.getBuffer());
  if (auto mma = dyn_cast<WgmmaOp>(op))
    return llvm::any_of(ValueRange{mma.getLhs(), mma.getRhs()}, [&](Value v) {
      if (!isa<DescType>(v.getType()))
        return false;
      Value buffer = getBuffer(v);
      return (!buffer && !dirty.written.empty()) ||
             dirty.written.contains(buffer);
    });
  return false;
}

void FenceAnalysis::visit(Operation *op, Dirty &dirty) {
  if (needsFence(op, dirty)) {
    points[op] |= !dirty.written.empty();
    dirty = {};
  }
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](FenceProxyAsyncOp) { dirty = {}; })
      .Case([&](FenceAcqRelOp) { dirty.read.clear(); })
      .Case([&](SmemStoreOp store) {
        if (touchedAsync.contains(store.getBuffer()))
          dirty.written.insert(store.getBuffer());
      })
      .Case([&](SmemLoadOp load) {
        if (writtenAsync.contains(load.getBuffer()))
          dirty.read.insert(load.getBuffer());
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
  if (isa<flow::SpecializeOp>(op)) {
    for (auto group : op->getRegion(0).getOps<flow::GroupOp>()) {
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
