//===- RingSizes.cpp - memory of rings ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "RingSizes.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// The group whose threads write what others read from the ring; null if copies
/// fill it.
static warp::GroupOp getWriter(warp::RingOp ring) {
  for (Operation *user : ring->getUsers()) {
    auto acquire = dyn_cast<warp::AcquireOp>(user);
    if (!acquire || acquire.getSide() != warp::Side::write)
      continue;
    for (Operation *view : acquire.getSlot().getUsers())
      if (llvm::any_of(view->getUsers(), llvm::IsaPred<WriteOp>))
        return acquire->getParentOfType<warp::GroupOp>();
  }
  return {};
}

/// Whether the threads of one group write what they read from the ring: it is
/// as deep as the group's own steps need.
static bool isExchanged(warp::RingOp ring) {
  llvm::SmallPtrSet<Operation *, 2> groups;
  for (Operation *user : ring->getUsers())
    if (isa<warp::CursorOp>(user))
      groups.insert(user->getParentOfType<warp::GroupOp>());
  return getWriter(ring) && groups.size() == 1;
}

/// Whether a group that multiplies hands its own numbers over through the ring:
/// their reader is a part of a step behind it, however deep the ring is.
static bool isHandedOver(warp::RingOp ring) {
  warp::GroupOp writer = getWriter(ring);
  return writer &&
         writer->walk([](DotAsyncOp) { return WalkResult::interrupt(); })
             .wasInterrupted();
}

RingSizes::RingSizes(gpu::GPUFuncOp kernel) {
  kernel.walk([&](warp::RingOp ring) {
    all.push_back(ring);
    unsigned loops = getLoopDepth(ring);
    if (!ring->getParentOfType<warp::GroupOp>() && loops && !isExchanged(ring))
      growing[loops].push_back(ring);
  });
}

int64_t RingSizes::getEntryBytes(warp::RingOp ring) {
  int64_t bytes = 0;
  for (Type type : ring.getRing().getType().getPayload())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      bytes += getStorageBytes(tensor);
  if (auto group = ring->getParentOfType<warp::GroupOp>())
    bytes *= group.getReplicas();
  return bytes;
}

int64_t RingSizes::getBytes() const {
  int64_t bytes = 0;
  for (warp::RingOp ring : all)
    bytes += getEntryBytes(ring) * ring.getRing().getType().getDepth();
  return bytes;
}

bool RingSizes::fits(const Rings &inStep, int64_t depth, int64_t budget) const {
  int64_t step = 0;
  for (warp::RingOp ring : inStep) {
    step += getEntryBytes(ring);
    if (ring.getRing().getType().getDepth() != depth - 1)
      return false;
  }
  return getBytes() + step <= budget;
}

RingSizes::Rings RingSizes::getGrowing(const Rings &inStep, int64_t depth,
                                       int64_t budget) const {
  if (fits(inStep, depth, budget))
    return inStep;
  // What only passes through on its way to products can do with less, and what
  // is no copy: it has no latency of memory.
  Rings ofProducts = llvm::filter_to_vector(inStep, feedsProducts),
        copied = llvm::filter_to_vector(
            ofProducts, [](warp::RingOp ring) { return !isHandedOver(ring); });
  for (const Rings &some : {ofProducts, copied})
    if (!some.empty() && some.size() < inStep.size() &&
        fits(some, depth, budget))
      return some;
  return {};
}

bool RingSizes::growsToTwo(warp::RingOp ring, int64_t budget) const {
  auto it = growing.find(getLoopDepth(ring));
  return it != growing.end() && llvm::is_contained(it->second, ring) &&
         llvm::is_contained(getGrowing(it->second, 2, budget), ring);
}

int64_t fa3::tile::countComputingGroups(gpu::GPUFuncOp kernel) {
  int64_t count = 0;
  kernel.walk([&](warp::GroupOp group) {
    count += int64_t(group.getWarps()) >= getChip(group).warpsPerWarpgroup;
  });
  return count;
}

bool fa3::tile::readsPlaces(Operation *op) {
  return op->walk([](ScalarLoadOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

bool fa3::tile::isAwaited(scf::ForOp loop) {
  auto kernel = loop->getParentOfType<gpu::GPUFuncOp>();
  RingSizes sizes(kernel);
  int64_t budget = kSharedMemoryBudget - getConstantBytes(kernel);
  return countComputingGroups(kernel) > 1 &&
         llvm::all_of(loop.getBody()->getOps<warp::AcquireOp>(),
                      [&](warp::AcquireOp acquire) {
                        if (acquire.getSide() != warp::Side::read)
                          return true;
                        auto ring =
                            acquire.getRing().getDefiningOp<warp::RingOp>();
                        return acquire.getRing().getType().getDepth() == 1 &&
                               !(ring && sizes.growsToTwo(ring, budget));
                      });
}
