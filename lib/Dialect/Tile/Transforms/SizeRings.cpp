//===- SizeRings.cpp - tile-size-rings ------------------------------------===//

#include "Utils.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"

namespace fa3::tile {
#define GEN_PASS_DEF_SIZERINGS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// Bytes of one entry in all replicas of the group that the ring is private to.
static int64_t entryBytes(flow::RingOp ring) {
  int64_t bytes = 0;
  for (Type type : ring.getRing().getType().getPayload())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      bytes += getDefaultStorage(tensor).getStorageBytes(
          tensor.getShape(), tensor.getElementType());
  if (auto group = ring->getParentOfType<flow::GroupOp>())
    bytes *= group.getReplicas();
  return bytes;
}

static int64_t totalBytes(ArrayRef<flow::RingOp> rings) {
  int64_t bytes = 0;
  for (flow::RingOp ring : rings)
    bytes += entryBytes(ring) * ring.getRing().getType().getDepth();
  return bytes;
}

static LogicalResult sizeRings(gpu::GPUFuncOp kernel, int64_t budget,
                               int64_t maxDepth) {
  SmallVector<flow::RingOp> rings, growing;
  kernel.walk([&](flow::RingOp ring) {
    rings.push_back(ring);
    if (!ring->getParentOfType<flow::GroupOp>() && isUsedInLoop(ring))
      growing.push_back(ring);
  });
  if (totalBytes(rings) > budget) {
    InFlightDiagnostic diagnostic =
        kernel.emitOpError("needs ")
        << totalBytes(rings) << " bytes of shared memory for its rings, the "
        << "limit is " << budget;
    for (flow::RingOp ring : rings)
      diagnostic.attachNote(ring.getLoc())
          << entryBytes(ring) * ring.getRing().getType().getDepth()
          << " bytes for " << ring.getRing().getType();
    return diagnostic;
  }
  // One more entry for all, as long as that fits: rings of one loop run in
  // step, a deeper one alone would only wait for the others.
  while (!growing.empty()) {
    int64_t step = 0;
    bool atLimit = false;
    for (flow::RingOp ring : growing) {
      step += entryBytes(ring);
      atLimit |= ring.getRing().getType().getDepth() >= maxDepth;
    }
    if (atLimit || totalBytes(rings) + step > budget)
      break;
    for (flow::RingOp ring : growing) {
      flow::RingType type = ring.getRing().getType();
      ring.getRing().setType(type.withDepth(type.getDepth() + 1));
    }
  }
  return success();
}

namespace {
struct SizeRings : fa3::tile::impl::SizeRingsBase<SizeRings> {
  using SizeRingsBase::SizeRingsBase;
  void runOnOperation() override {
    auto expectAtLeast = [&](StringRef name, int64_t least, int64_t value) {
      if (value >= least)
        return success();
      return LogicalResult(
          getOperation()->emitError("tile-size-rings: expects ")
          << name << " of at least " << least << ", got " << value);
    };
    if (failed(expectAtLeast("max-depth", 1, maxDepth)) ||
        failed(expectAtLeast("smem-budget", 0, smemBudget)))
      return signalPassFailure();
    if (failed(forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
          if (failed(sizeRings(kernel, smemBudget, maxDepth)))
            return failure();
          SmallVector<flow::RingOp> rings;
          kernel.walk([&](flow::RingOp ring) { rings.push_back(ring); });
          mostBytes.updateMax(totalBytes(rings));
          return success();
        })))
      signalPassFailure();
  }
};
} // namespace
