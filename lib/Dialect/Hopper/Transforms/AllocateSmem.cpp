//===- AllocateSmem.cpp - offsets in dynamic shared memory ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fa3::hopper {
#define GEN_PASS_DEF_ALLOCATESMEM
#include "fa3/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace fa3::hopper

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

/// Copies of an allocation: one per replica of the group it stands in.
static int64_t getReplicas(Operation *op) {
  auto group = op->getParentOfType<warp::GroupOp>();
  return group ? group.getReplicas() : 1;
}

namespace {
struct AllocateSmem : hopper::impl::AllocateSmemBase<AllocateSmem> {
  void runOnOperation() override {
    llvm::DenseMap<Operation *, int64_t> totals;
    WalkResult result = getOperation().walk([&](gpu::GPUFuncOp function) {
      FailureOr<int64_t> total = allocate(function);
      if (failed(total))
        return WalkResult::interrupt();
      totals[function] = *total;
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    SymbolTableCollection symbols;
    getOperation().walk([&](LaunchOp launch) {
      auto it = totals.find(
          symbols.lookupNearestSymbolFrom(launch, launch.getKernelAttr()));
      if (it != totals.end())
        launch.setSmem(it->second);
    });
  }

  FailureOr<int64_t> allocate(gpu::GPUFuncOp function) {
    // Offsets are attached only when all fit: the verifier refuses others.
    SmallVector<std::pair<Operation *, int64_t>> offsets;
    int64_t end = 0;
    auto reserve = [&](auto op) {
      end = llvm::alignTo(end, op.kAlignment);
      offsets.push_back({op, end});
      end += op.getReplicaBytes() * getReplicas(op);
    };
    // Buffers first: their alignment is the larger one.
    function.walk([&](AllocOp op) { reserve(op); });
    function.walk([&](BarrierAllocOp op) { reserve(op); });
    function.walk([&](MailboxAllocOp op) { reserve(op); });

    int64_t limit = getChip(function).maxSharedMemoryBytes;
    if (end > limit) {
      InFlightDiagnostic diagnostic =
          function.emitOpError("needs ")
          << end << " bytes of shared memory, the limit is " << limit;
      for (auto [op, offset] : offsets)
        if (auto alloc = dyn_cast<AllocOp>(op))
          diagnostic.attachNote(op->getLoc())
              << alloc.getReplicaBytes() * getReplicas(op) << " bytes for "
              << alloc.getBuffer().getType() << " of " << getReplicas(op)
              << (getReplicas(op) == 1 ? " owner" : " replicas");
      return failure();
    }
    for (auto [op, offset] : offsets) {
      if (auto alloc = dyn_cast<AllocOp>(op))
        alloc.setOffset(offset);
      else if (auto barriers = dyn_cast<BarrierAllocOp>(op))
        barriers.setOffset(offset);
      else
        cast<MailboxAllocOp>(op).setOffset(offset);
    }
    bytes += end;
    return end;
  }
};
} // namespace
