//===- InsertFences.cpp - fences between the proxies ----------------------===//
//
// Forward dataflow over structured control flow: which buffers has this group
// written through the generic proxy, without a fence since, that the async
// proxy will touch.
//
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetOperations.h"
#include "llvm/ADT/SetVector.h"
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

class FenceAnalysis {
public:
  /// Finds what the async proxy does to every buffer.
  LogicalResult collect(gpu::GPUFuncOp function);
  /// Finds where fences are needed.
  void visit(Block &block, Buffers &dirty);
  ArrayRef<Operation *> getPoints() const { return points.getArrayRef(); }

private:
  void visit(Operation *op, Buffers &dirty);
  void visitRegions(Operation *op, Buffers &dirty);
  /// Whether an async access that follows `op` closely would see a buffer of
  /// `dirty` as the generic proxy left it.
  bool needsFence(Operation *op, const Buffers &dirty) const;

  Buffers touchedAsync;
  llvm::SetVector<Operation *> points;
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
    if (auto load = dyn_cast<TmaLoadOp>(op))
      touchedAsync.insert(load.getBuffer());
    if (auto store = dyn_cast<TmaStoreOp>(op))
      touchedAsync.insert(store.getBuffer());
    if (auto desc = dyn_cast<DescOp>(op))
      touchedAsync.insert(desc.getBuffer());
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

bool FenceAnalysis::needsFence(Operation *op, const Buffers &dirty) const {
  if (dirty.empty())
    return false;
  // What lets another thread, or the async proxy on its behalf, go on.
  if (isa<NamedBarrierSyncOp, NamedBarrierArriveOp, BarrierArriveOp,
          BarrierExpectTxOp, gpu::BarrierOp>(op))
    return true;
  if (auto load = dyn_cast<TmaLoadOp>(op))
    return dirty.contains(load.getBuffer());
  if (auto store = dyn_cast<TmaStoreOp>(op))
    return dirty.contains(store.getBuffer());
  if (auto mma = dyn_cast<WgmmaOp>(op))
    return llvm::any_of(ValueRange{mma.getLhs(), mma.getRhs()}, [&](Value v) {
      if (!isa<DescType>(v.getType()))
        return false;
      Value buffer = getBuffer(v);
      return !buffer || dirty.contains(buffer);
    });
  return false;
}

void FenceAnalysis::visit(Operation *op, Buffers &dirty) {
  if (needsFence(op, dirty)) {
    points.insert(op);
    dirty.clear();
  }
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](FenceProxyAsyncOp) { dirty.clear(); })
      .Case([&](SmemStoreOp store) {
        if (touchedAsync.contains(store.getBuffer()))
          dirty.insert(store.getBuffer());
      })
      .Default([&](Operation *other) {
        if (other->getNumRegions() != 0)
          visitRegions(other, dirty);
      });
}

void FenceAnalysis::visit(Block &block, Buffers &dirty) {
  for (Operation &op : block)
    visit(&op, dirty);
}

/// Regions of a loop run any number of times and in any order; of the regions
/// of another operation one runs, or none if one of them is empty.
void FenceAnalysis::visitRegions(Operation *op, Buffers &dirty) {
  if (isa<flow::SpecializeOp>(op)) {
    for (auto group : op->getRegion(0).getOps<flow::GroupOp>()) {
      Buffers own = dirty;
      visit(*group.getBodyBlock(), own);
    }
    return;
  }
  auto visitRegion = [&](Region &region, Buffers inside) {
    for (Block &block : region)
      visit(block, inside);
    return inside;
  };
  if (!isa<LoopLikeOpInterface>(op)) {
    Buffers after;
    for (Region &region : op->getRegions())
      llvm::set_union(after, visitRegion(region, dirty));
    dirty = std::move(after);
    return;
  }
  size_t sizeBefore;
  do {
    sizeBefore = dirty.size();
    for (Region &region : op->getRegions())
      llvm::set_union(dirty, visitRegion(region, dirty));
  } while (dirty.size() != sizeBefore);
}

namespace {
struct InsertFences : hopper::impl::InsertFencesBase<InsertFences> {
  void runOnOperation() override {
    FenceAnalysis analysis;
    if (failed(analysis.collect(getOperation())))
      return signalPassFailure();
    for (Block &block : getOperation().getBody()) {
      Buffers dirty;
      analysis.visit(block, dirty);
    }
    for (Operation *op : analysis.getPoints()) {
      OpBuilder builder(op);
      FenceProxyAsyncOp::create(builder, op->getLoc());
      ++numFences;
    }
  }
};
} // namespace
