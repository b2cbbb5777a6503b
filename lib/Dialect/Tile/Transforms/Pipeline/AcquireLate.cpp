//===- AcquireLate.cpp - tile-acquire-late --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "RingSizes.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"

namespace fa3::tile {
#define GEN_PASS_DEF_ACQUIRELATE
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// The first operation of the block that needs the entry, which its views do
/// not.
static Operation *findFirstNeed(warp::AcquireOp acquire) {
  Block *block = acquire->getBlock();
  Operation *first = nullptr;
  auto consider = [&](Operation *op) {
    op = block->findAncestorOpInBlock(*op);
    if (op && (!first || op->isBeforeInBlock(first)))
      first = op;
  };
  for (Operation *user : acquire->getUsers()) {
    if (!isa<ViewOp>(user) || user->getBlock() != block) {
      consider(user);
      continue;
    }
    for (Operation *access : user->getUsers())
      consider(access);
  }
  return first;
}

/// Whether threads may wait for something in the operation, or others for what
/// they do in it.
static bool meetsOthers(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<warp::AcquireOp, warp::PublishOp, warp::ReleaseOp,
                   warp::WaitOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Moves an acquire and its views down to the first operation that needs the
/// entry, but behind no other operation on a ring than releases: groups agree
/// on the order of what they wait for. `passesRings`: behind those as well, and
/// behind code without any; two waits in a row may change places, and what is
/// handed over before a wait instead of behind it helps whoever waits for it.
/// Where no product is issued on the way there is nothing to gain, and scalars
/// that are kept longer cost registers. Returns whether anything changed.
static bool sink(warp::AcquireOp acquire, bool passesRings) {
  Operation *first = findFirstNeed(acquire);
  if (!first)
    return false;
  SmallVector<Operation *> views;
  Operation *target = acquire;
  bool passesProduct = false;
  for (Operation *op = acquire->getNextNode(); op != first;
       op = op->getNextNode()) {
    if (auto view = dyn_cast<ViewOp>(op);
        view && view.getSlot() == acquire.getSlot()) {
      views.push_back(op);
      continue;
    }
    bool mayPass = passesRings && (!op->getNumRegions() || !meetsOthers(op));
    if (!mayPass &&
        (isa<warp::AcquireOp, warp::PublishOp>(op) || op->getNumRegions()))
      break;
    passesProduct |= isa<DotAsyncOp>(op);
    target = op;
  }
  if (!passesProduct)
    return false;
  acquire->moveAfter(target);
  Operation *last = acquire;
  for (Operation *view : views) {
    view->moveAfter(last);
    last = view;
  }
  return true;
}

/// The innermost loop that the operation lies in, which has been scheduled.
static scf::ForOp getInnermost(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  bool isInnermost =
      loop && !loop.getBody()
                   ->walk([](scf::ForOp) { return WalkResult::interrupt(); })
                   .wasInterrupted();
  return isInnermost ? loop : scf::ForOp();
}

/// Whether what needs the entry first is a product that goes on with the sum of
/// another one: that runs while a group waits.
static bool isAwaitedInChain(warp::AcquireOp acquire) {
  auto dot = dyn_cast_or_null<DotAsyncOp>(findFirstNeed(acquire));
  return dot && isa<PendingType>(dot.getAcc().getType()) &&
         dot.getAcc().getDefiningOp<DotAsyncOp>() &&
         dot.getAcc().getDefiningOp()->getBlock() == dot->getBlock();
}

namespace {
struct AcquireLate : fa3::tile::impl::AcquireLateBase<AcquireLate> {
  using AcquireLateBase::AcquireLateBase;
  void runOnOperation() override {
    SmallVector<warp::AcquireOp> acquires;
    getOperation()->walk([&](warp::AcquireOp acquire) {
      scf::ForOp loop = getInnermost(acquire);
      if (acquire.getSide() == warp::Side::read &&
          (!loop || isAwaited(loop) || isAwaitedInChain(acquire)))
        acquires.push_back(acquire);
    });
    for (warp::AcquireOp acquire : llvm::reverse(acquires))
      sunk += sink(acquire, /*passesRings=*/bool(getInnermost(acquire)));
  }
};
} // namespace
