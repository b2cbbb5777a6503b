//===- InsertPingPong.cpp - tile-insert-ping-pong -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What makes the numbers of turns equal is the ring they are tied to: however a
// loop was split, expanded or skipped, every replica acquires each entry once.
//===----------------------------------------------------------------------===//

#include "../Utils.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace fa3::tile {
#define GEN_PASS_DEF_INSERTPINGPONG
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// The loops of a group with products of their own.
static SmallVector<scf::ForOp> findProductLoops(warp::GroupOp group) {
  SmallVector<scf::ForOp> loops;
  group.walk([&](scf::ForOp loop) {
    if (!loop.getBody()->getOps<DotAsyncOp>().empty())
      loops.push_back(loop);
  });
  return loops;
}

/// The ring between groups whose entry the first product of the loop's body
/// reads, of those that read an entry acquired in the body; null if none does.
static warp::RingOp findStepRing(scf::ForOp loop) {
  auto group = loop->getParentOfType<warp::GroupOp>();
  for (auto dot : loop.getBody()->getOps<DotAsyncOp>())
    for (Value operand : {Value(dot.getLhs()), Value(dot.getRhs())}) {
      auto view = operand.getDefiningOp<ViewOp>();
      auto acquire =
          view ? view.getSlot().getDefiningOp<warp::AcquireOp>() : nullptr;
      if (!acquire || acquire->getBlock() != loop.getBody())
        continue;
      auto ring = acquire.getRing().getDefiningOp<warp::RingOp>();
      if (ring && !group->isAncestor(ring))
        return ring;
    }
  return {};
}

namespace {
/// What a turn encloses: nothing if `first` is null.
struct Turn {
  Operation *first = nullptr, *last = nullptr;
};
} // namespace

/// Whether `acquire` can be moved in front of `first`, which is before it in
/// its block: its position is known there and rings are left alone in between.
static bool canHoist(warp::AcquireOp acquire, Operation *first) {
  for (Value operand : acquire->getOperands()) {
    Operation *definition = operand.getDefiningOp();
    if (definition && definition->getBlock() == first->getBlock() &&
        !definition->isBeforeInBlock(first))
      return false;
  }
  for (Operation *op = first; op != acquire; op = op->getNextNode())
    if (isa<warp::AcquireOp, warp::PublishOp, warp::ReleaseOp, warp::TakeTurnOp,
            warp::PassTurnOp>(op))
      return false;
  return true;
}

/// The products that the step of `acquire` issues before it waits for one of
/// them. Acquires among them move in front of the first.
static Turn findTurn(warp::AcquireOp acquire) {
  Turn turn;
  llvm::SmallPtrSet<Operation *, 4> issued;
  SmallVector<warp::AcquireOp> between;
  for (Operation *op = acquire->getNextNode(); op;) {
    Operation *next = op->getNextNode();
    if (auto other = dyn_cast<warp::AcquireOp>(op)) {
      if (other.getRing() == acquire.getRing())
        break;
      if (turn.first) {
        if (!canHoist(other, turn.first))
          break;
        other->moveBefore(turn.first);
      }
    } else if (isa<DotAsyncOp>(op)) {
      if (!turn.first)
        turn.first = op;
      turn.last = op;
      issued.insert(op);
    } else if (auto await = dyn_cast<AwaitOp>(op)) {
      if (issued.contains(await.getPending().getDefiningOp()))
        break;
    } else if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op)) {
      break;
    }
    op = next;
  }
  return turn;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct InsertPingPong : fa3::tile::impl::InsertPingPongBase<InsertPingPong> {
  using InsertPingPongBase::InsertPingPongBase;

  void runOnOperation() override {
    if (pingPong == options::Switch::Off)
      return;
    SmallVector<warp::GroupOp> groups;
    getOperation()->walk([&](warp::GroupOp group) { groups.push_back(group); });
    for (warp::GroupOp group : groups)
      orderReplicas(group);
  }

  void orderReplicas(warp::GroupOp group);
};
} // namespace

void InsertPingPong::orderReplicas(warp::GroupOp group) {
  SmallVector<scf::ForOp> loops = findProductLoops(group);
  if (loops.empty())
    return;
  if (group.getReplicas() < 2) {
    group.emitRemark("has one replica, which needs no turns");
    return;
  }
  llvm::SmallSetVector<Operation *, 2> rings;
  for (scf::ForOp loop : loops) {
    warp::RingOp ring = findStepRing(loop);
    if (ring)
      rings.insert(ring);
    else
      loop.emitRemark("gets no turns: no product of it reads an entry that the "
                      "loop acquires from another group, so nothing says that "
                      "all replicas have as many steps");
  }
  for (Operation *ring : rings) {
    SmallVector<warp::AcquireOp> steps;
    group.walk([&](warp::AcquireOp acquire) {
      if (acquire.getRing().getDefiningOp() == ring)
        steps.push_back(acquire);
    });
    OpBuilder builder(group->getParentOp());
    Value order = warp::OrderedBarrierOp::create(builder, group.getLoc());
    for (warp::AcquireOp acquire : steps) {
      Turn turn = findTurn(acquire);
      if (turn.first)
        builder.setInsertionPoint(turn.first);
      else
        builder.setInsertionPointAfter(acquire);
      Location loc = turn.first ? turn.first->getLoc() : acquire.getLoc();
      auto take = warp::TakeTurnOp::create(builder, loc, order);
      if (turn.last)
        builder.setInsertionPointAfter(turn.last);
      warp::PassTurnOp::create(builder, loc, take.getTurn());
      ++inserted;
    }
  }
}
