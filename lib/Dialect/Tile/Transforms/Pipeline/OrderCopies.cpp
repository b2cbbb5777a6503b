//===- OrderCopies.cpp - tile-order-copies --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A group that fills rings waits for one entry after the other. What is given
// back early in a step is to be on its way while the rest is still being read.
//
//===----------------------------------------------------------------------===//

#include "RingSizes.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fa3::tile {
#define GEN_PASS_DEF_ORDERCOPIES
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

namespace {
/// How much of a step has been issued when an entry is given back: so many of
/// its products.
struct Share {
  int64_t products = 1, of = 1;
  bool operator<(const Share &other) const {
    return products * other.of < other.products * of;
  }
};

/// An acquire for writing, what is done with the entry, and the ring.
struct Fill {
  SmallVector<Operation *> ops;
  warp::RingOp ring;
  Share kept;
};
} // namespace

/// Where a reader gives an entry back: in its own step, or else in the end.
static Share findRelease(warp::AcquireOp acquire) {
  Share share;
  for (Operation *user : acquire.getSlot().getUsers()) {
    if (!isa<warp::ReleaseOp>(user) || user->getBlock() != acquire->getBlock())
      continue;
    auto dots = acquire->getBlock()->getOps<DotAsyncOp>();
    int64_t all = std::distance(dots.begin(), dots.end());
    if (all == 0)
      return share;
    share = {
        llvm::count_if(
            dots, [&](DotAsyncOp dot) { return dot->isBeforeInBlock(user); }),
        all};
  }
  return share;
}

/// The same of all readers of a ring.
static Share findLastRelease(warp::RingOp ring) {
  Share last = {0, 1};
  for (Operation *user : ring->getUsers())
    if (auto acquire = dyn_cast<warp::AcquireOp>(user);
        acquire && acquire.getSide() == warp::Side::read)
      last = std::max(last, findRelease(acquire));
  return last;
}

/// All that happens to an entry in the block, in its order; nothing if that is
/// not only a copy.
static std::optional<Fill> findFill(warp::AcquireOp acquire) {
  auto ring = acquire.getRing().getDefiningOp<warp::RingOp>();
  if (!ring)
    return std::nullopt;
  Block *block = acquire->getBlock();
  Fill fill{{acquire}, ring, findLastRelease(ring)};
  bool isCopied = false;
  for (Operation *user : acquire.getSlot().getUsers()) {
    if (user->getBlock() != block || !isa<ViewOp, warp::PublishOp>(user))
      return std::nullopt;
    fill.ops.push_back(user);
    if (isa<ViewOp>(user))
      for (Operation *access : user->getUsers()) {
        if (access->getBlock() != block || !isa<LoadAsyncOp>(access))
          return std::nullopt;
        fill.ops.push_back(access);
        isCopied = true;
      }
  }
  if (!isCopied)
    return std::nullopt;
  llvm::sort(fill.ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return fill;
}

/// The fills of a block; none if there is something between them that may not
/// be passed.
static SmallVector<Fill> findFills(Block &block) {
  SmallVector<Fill> fills;
  llvm::SmallPtrSet<Operation *, 16> members;
  for (auto acquire : block.getOps<warp::AcquireOp>()) {
    if (acquire.getSide() != warp::Side::write)
      return {};
    std::optional<Fill> fill = findFill(acquire);
    if (!fill)
      return {};
    members.insert(fill->ops.begin(), fill->ops.end());
    fills.push_back(std::move(*fill));
  }
  if (fills.size() < 2)
    return {};
  Operation *end = fills.front().ops.back();
  for (const Fill &fill : fills)
    if (end->isBeforeInBlock(fill.ops.back()))
      end = fill.ops.back();
  for (Operation *op = fills.front().ops.front(); op != end;
       op = op->getNextNode())
    if (!members.contains(op) && !isMemoryEffectFree(op) &&
        !hasSingleEffect<MemoryEffects::Read>(op))
      return {};
  return fills;
}

/// Puts the fills of a block behind each other, those in front that are given
/// back first. Returns whether anything changed.
static bool orderCopies(Block &block, const RingSizes &sizes, int64_t budget) {
  SmallVector<Fill> fills = findFills(block);
  auto isShallow = [&](Fill &fill) {
    return fill.ring.getRing().getType().getDepth() == 1 &&
           !sizes.growsToTwo(fill.ring, budget);
  };
  auto isBefore = [](const Fill &a, const Fill &b) { return a.kept < b.kept; };
  if (llvm::none_of(fills, isShallow) || llvm::is_sorted(fills, isBefore))
    return false;
  llvm::stable_sort(fills, isBefore);
  Operation *end = nullptr;
  for (const Fill &fill : fills)
    if (!end || end->isBeforeInBlock(fill.ops.back()))
      end = fill.ops.back();
  Operation *next = end->getNextNode();
  for (const Fill &fill : fills)
    for (Operation *op : fill.ops)
      op->moveBefore(next);
  return true;
}

namespace {
struct OrderCopies : fa3::tile::impl::OrderCopiesBase<OrderCopies> {
  using OrderCopiesBase::OrderCopiesBase;
  void runOnOperation() override {
    (void)forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
      if (countComputingGroups(kernel) < 2)
        return success();
      RingSizes sizes(kernel);
      int64_t budget = kSharedMemoryBudget - getConstantBytes(kernel);
      kernel.walk([&](scf::ForOp loop) {
        numOrdered += orderCopies(*loop.getBody(), sizes, budget);
      });
      return success();
    });
  }
};
} // namespace
