//===- ReleaseEarly.cpp - tile-release-early ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Utils.h"
#include "fa3/Dialect/Tile/Analysis/RingProtocol.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"

namespace fa3::tile {
#define GEN_PASS_DEF_RELEASEEARLY
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// The last operation of the release's block before it that uses the slot or
/// gives a token that the release waits for.
static Operation *findLastNeed(warp::ReleaseOp release) {
  Block *block = release->getBlock();
  Operation *last = nullptr;
  auto consider = [&](Operation *op) {
    op = op ? block->findAncestorOpInBlock(*op) : nullptr;
    if (op && op->isBeforeInBlock(release) &&
        (!last || last->isBeforeInBlock(op)))
      last = op;
  };
  consider(release.getSlot().getDefiningOp());
  // A release before the await of its product would wait for the product.
  for (Value token : release.getAfter()) {
    consider(token.getDefiningOp());
    if (auto dot = token.getDefiningOp<DotAsyncOp>())
      for (Operation *user : dot.getResult().getUsers())
        consider(user);
  }
  for (Operation *user : release.getSlot().getUsers()) {
    consider(user);
    if (auto view = dyn_cast<ViewOp>(user))
      for (Operation *access : view.getView().getUsers()) {
        consider(access);
        // Numbers of rows or columns are read as they are used.
        auto read = dyn_cast<ReadOp>(access);
        if (read && read.getResult().getType().getRank() == 1)
          consider(findMeeting(read));
      }
  }
  return last;
}

/// The next operation that hands over what threads have written, for which they
/// meet: who has read a slot needs no other meeting to give it back. Products
/// on the way are awaited in any case; for other things nobody waits. Null if
/// the slot has other uses than to be read.
static Operation *findNextMeeting(warp::ReleaseOp release, Operation *last) {
  if (!isReadByThreads(release))
    return nullptr;
  for (Operation *op = last->getNextNode(); op; op = op->getNextNode()) {
    if (op->getNumRegions() || isa<warp::WaitOp>(op))
      return nullptr;
    auto publish = dyn_cast<warp::PublishOp>(op);
    if (!publish)
      continue;
    for (Operation *view : publish.getSlot().getUsers())
      if (llvm::any_of(view->getUsers(), llvm::IsaPred<WriteOp>))
        return publish;
  }
  return nullptr;
}

/// Gives a slot back together with the next one that threads read, for which
/// they meet: one meeting does for both. Nothing that a group may wait for on
/// others is on the way.
static bool joinNext(warp::ReleaseOp release) {
  if (!isReadByThreads(release))
    return false;
  for (Operation *op = release->getNextNode(); op; op = op->getNextNode()) {
    if (op->getNumRegions() ||
        isa<warp::WaitOp, warp::AcquireOp, warp::PublishOp>(op))
      return false;
    auto other = dyn_cast<warp::ReleaseOp>(op);
    if (!other || !isReadByThreads(other))
      continue;
    if (release->getNextNode() == other)
      return false;
    release->moveBefore(other);
    return true;
  }
  return false;
}

/// Moves a release up to the last operation that needs the slot, into both
/// arms if that is a branch. Returns whether anything changed.
static bool hoist(warp::ReleaseOp release) {
  // Nothing else in the block waits for a product that is carried in flight: up
  // there the release would, and keep everything behind it.
  // A left operand in registers that the loop carries is waited for anyway,
  // before the next one is computed.
  for (Value token : release.getAfter())
    if (auto dot = token.getDefiningOp<DotAsyncOp>();
        dot && dot->getBlock() == release->getBlock() && !findAwait(dot) &&
        !isa<BlockArgument>(dot.getLhs()))
      return false;
  Operation *last = findLastNeed(release);
  if (!last)
    return false;
  if (Operation *meeting = findNextMeeting(release, last))
    last = meeting;
  auto branch = dyn_cast<scf::IfOp>(last);
  if (!branch || !branch.elseBlock()) {
    if (last->getNextNode() == release)
      return false;
    release->moveAfter(last);
    return true;
  }
  for (Block *arm : {branch.thenBlock(), branch.elseBlock()}) {
    Operation *yield = arm->getTerminator();
    IRMapping mapping;
    for (auto [result, yielded] :
         llvm::zip(branch.getResults(), yield->getOperands()))
      mapping.map(result, yielded);
    OpBuilder builder(yield);
    hoist(cast<warp::ReleaseOp>(builder.clone(*release, mapping)));
  }
  release.erase();
  return true;
}

namespace {
struct ReleaseEarly : fa3::tile::impl::ReleaseEarlyBase<ReleaseEarly> {
  using ReleaseEarlyBase::ReleaseEarlyBase;
  void runOnOperation() override {
    SmallVector<warp::ReleaseOp> releases;
    getOperation()->walk(
        [&](warp::ReleaseOp release) { releases.push_back(release); });
    for (warp::ReleaseOp release : releases)
      hoisted += hoist(release);
    // What is in front of others joins them, the last ones first.
    releases.clear();
    getOperation()->walk(
        [&](warp::ReleaseOp release) { releases.push_back(release); });
    for (warp::ReleaseOp release : llvm::reverse(releases))
      hoisted += joinNext(release);
  }
};
} // namespace
