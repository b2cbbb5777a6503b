//===- RingSizes.cpp - memory of rings ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "RingSizes.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

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
  // What only passes through on its way to products can do with less.
  Rings ofProducts = llvm::filter_to_vector(inStep, feedsProducts);
  if (ofProducts.size() < inStep.size() && fits(ofProducts, depth, budget))
    return ofProducts;
  return {};
}

bool RingSizes::growsToTwo(warp::RingOp ring, int64_t budget) const {
  auto it = growing.find(getLoopDepth(ring));
  return it != growing.end() && llvm::is_contained(it->second, ring) &&
         llvm::is_contained(getGrowing(it->second, 2, budget), ring);
}
