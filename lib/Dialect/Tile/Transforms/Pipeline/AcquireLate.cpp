//===- AcquireLate.cpp - tile-acquire-late --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Utils.h"
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

/// Moves an acquire and its views down to the first operation that needs the
/// entry, but behind no other operation on a ring than releases: groups agree
/// on the order of what they wait for. Where no product is issued on the way
/// there is nothing to gain, and scalars that are kept longer cost registers.
/// Returns whether anything changed.
static bool sink(warp::AcquireOp acquire) {
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
    if (isa<warp::AcquireOp, warp::PublishOp>(op) || op->getNumRegions())
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

/// Whether the operation lies in an innermost loop, which has been scheduled.
static bool isInnermost(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  return loop && !loop.getBody()
                      ->walk([](scf::ForOp) { return WalkResult::interrupt(); })
                      .wasInterrupted();
}

namespace {
struct AcquireLate : fa3::tile::impl::AcquireLateBase<AcquireLate> {
  using AcquireLateBase::AcquireLateBase;
  void runOnOperation() override {
    SmallVector<warp::AcquireOp> acquires;
    getOperation()->walk([&](warp::AcquireOp acquire) {
      if (acquire.getSide() == warp::Side::read && !isInnermost(acquire))
        acquires.push_back(acquire);
    });
    for (warp::AcquireOp acquire : llvm::reverse(acquires))
      sunk += sink(acquire);
  }
};
} // namespace
