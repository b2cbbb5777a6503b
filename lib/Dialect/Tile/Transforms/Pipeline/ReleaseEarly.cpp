//===- ReleaseEarly.cpp - tile-release-early ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Utils.h"
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
      for (Operation *access : view.getView().getUsers())
        consider(access);
  }
  return last;
}

/// Moves a release up to the last operation that needs the slot, into both
/// arms if that is a branch. Returns whether anything changed.
static bool hoist(warp::ReleaseOp release) {
  Operation *last = findLastNeed(release);
  if (!last)
    return false;
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
  }
};
} // namespace
