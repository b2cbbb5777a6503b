//===- SizeRings.cpp - tile-size-rings ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Utils.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include <map>

namespace fa3::tile {
#define GEN_PASS_DEF_SIZERINGS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// Bytes of one entry in all replicas of the group that the ring is private to.
static int64_t entryBytes(warp::RingOp ring) {
  int64_t bytes = 0;
  for (Type type : ring.getRing().getType().getPayload())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      bytes += getStorageBytes(tensor);
  if (auto group = ring->getParentOfType<warp::GroupOp>())
    bytes *= group.getReplicas();
  return bytes;
}

static int64_t totalBytes(ArrayRef<warp::RingOp> rings) {
  int64_t bytes = 0;
  for (warp::RingOp ring : rings)
    bytes += entryBytes(ring) * ring.getRing().getType().getDepth();
  return bytes;
}

/// Whether the threads of one group write what they read from the ring: it is
/// as deep as the group's own steps need.
static bool isExchanged(warp::RingOp ring) {
  llvm::SmallPtrSet<Operation *, 2> groups;
  bool isWritten = false;
  for (Operation *user : ring->getUsers()) {
    if (isa<warp::CursorOp>(user))
      groups.insert(user->getParentOfType<warp::GroupOp>());
    auto acquire = dyn_cast<warp::AcquireOp>(user);
    if (!acquire || acquire.getSide() != warp::Side::write)
      continue;
    for (Operation *view : acquire.getSlot().getUsers())
      isWritten |= llvm::any_of(view->getUsers(), llvm::IsaPred<WriteOp>);
  }
  return isWritten && groups.size() == 1;
}

/// In a nest of so many loops, and how deep rings get there: by more, a group
/// could be ahead of another in more ways than hopper-check-protocol explores.
static constexpr unsigned kDeepNest = 3;
static constexpr int64_t kMostInDeepNest = 2;

static LogicalResult sizeRings(gpu::GPUFuncOp kernel, int64_t smemBudget,
                               int64_t maxDepth) {
  int64_t budget = smemBudget - getConstantBytes(kernel);
  SmallVector<warp::RingOp> rings;
  // Rings that may grow by the number of loops around their use.
  std::map<unsigned, SmallVector<warp::RingOp>, std::greater<>> growing;
  kernel.walk([&](warp::RingOp ring) {
    rings.push_back(ring);
    unsigned loops = getLoopDepth(ring);
    if (!ring->getParentOfType<warp::GroupOp>() && loops && !isExchanged(ring))
      growing[loops].push_back(ring);
  });
  if (totalBytes(rings) > budget) {
    InFlightDiagnostic diagnostic =
        kernel.emitOpError("needs ")
        << totalBytes(rings) << " bytes of shared memory for its rings, the "
        << "limit is " << budget;
    for (warp::RingOp ring : rings)
      diagnostic.attachNote(ring.getLoc())
          << entryBytes(ring) * ring.getRing().getType().getDepth()
          << " bytes for " << ring.getRing().getType();
    return diagnostic;
  }
  if (!growing.empty() && growing.begin()->first >= kDeepNest)
    maxDepth = std::min(maxDepth, kMostInDeepNest);
  // One more entry for all of a loop nest, as long as that fits: rings of one
  // loop run in step, a deeper one alone would only wait for the others.
  // Entries of inner loops are needed more often and come first.
  auto grow = [&](ArrayRef<warp::RingOp> inStep, int64_t depth) {
    int64_t step = 0;
    for (warp::RingOp ring : inStep) {
      step += entryBytes(ring);
      if (ring.getRing().getType().getDepth() != depth - 1)
        return false;
    }
    if (totalBytes(rings) + step > budget)
      return false;
    for (warp::RingOp ring : inStep)
      ring.getRing().setType(ring.getRing().getType().withDepth(depth));
    return true;
  };
  for (int64_t depth = 2; depth <= maxDepth; ++depth)
    for (auto &[loops, inStep] : growing) {
      if (grow(inStep, depth))
        continue;
      // What only passes through on its way to products can do with less.
      SmallVector<warp::RingOp> ofProducts =
          llvm::filter_to_vector(inStep, feedsProducts);
      if (ofProducts.size() < inStep.size())
        grow(ofProducts, depth);
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
          SmallVector<warp::RingOp> rings;
          kernel.walk([&](warp::RingOp ring) { rings.push_back(ring); });
          mostBytes.updateMax(totalBytes(rings));
          return success();
        })))
      signalPassFailure();
  }
};
} // namespace
