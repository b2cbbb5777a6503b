//===- InsertTurns.cpp - tile-insert-turns --------------------------------===//
//
// What makes the numbers of turns equal is the ring they are tied to: however a
// loop was split, expanded or skipped, every replica acquires each entry once.
//
//===----------------------------------------------------------------------===//

#include "Utils.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace fa3::tile {
#define GEN_PASS_DEF_INSERTTURNS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// The loops of a group with products of their own.
static SmallVector<scf::ForOp> findProductLoops(flow::GroupOp group) {
  SmallVector<scf::ForOp> loops;
  group.walk([&](scf::ForOp loop) {
    if (!loop.getBody()->getOps<DotAsyncOp>().empty())
      loops.push_back(loop);
  });
  return loops;
}

/// The ring between groups whose entry the first product of the loop's body
/// reads, of those that read an entry acquired in the body; null if none does.
static flow::RingOp findStepRing(scf::ForOp loop) {
  auto group = loop->getParentOfType<flow::GroupOp>();
  for (auto dot : loop.getBody()->getOps<DotAsyncOp>())
    for (Value operand : {Value(dot.getLhs()), Value(dot.getRhs())}) {
      auto view = operand.getDefiningOp<ViewOp>();
      auto acquire =
          view ? view.getSlot().getDefiningOp<flow::AcquireOp>() : nullptr;
      if (!acquire || acquire->getBlock() != loop.getBody())
        continue;
      auto ring = acquire.getRing().getDefiningOp<flow::RingOp>();
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
static bool canHoist(flow::AcquireOp acquire, Operation *first) {
  for (Value operand : acquire->getOperands()) {
    Operation *definition = operand.getDefiningOp();
    if (definition && definition->getBlock() == first->getBlock() &&
        !definition->isBeforeInBlock(first))
      return false;
  }
  for (Operation *op = first; op != acquire; op = op->getNextNode())
    if (isa<flow::AcquireOp, flow::PublishOp, flow::ReleaseOp, flow::TakeOp,
            flow::PassOp>(op))
      return false;
  return true;
}

/// The products that the step of `acquire` issues before it waits for one of
/// them. Acquires among them move in front of the first.
static Turn findTurn(flow::AcquireOp acquire) {
  Turn turn;
  llvm::SmallPtrSet<Operation *, 4> issued;
  SmallVector<flow::AcquireOp> between;
  for (Operation *op = acquire->getNextNode(); op;) {
    Operation *next = op->getNextNode();
    if (auto other = dyn_cast<flow::AcquireOp>(op)) {
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
struct InsertTurns : fa3::tile::impl::InsertTurnsBase<InsertTurns> {
  using InsertTurnsBase::InsertTurnsBase;

  void runOnOperation() override {
    if (turns != "on" && turns != "off") {
      emitError(getOperation()->getLoc())
          << "tile-insert-turns: expects turns 'on' or 'off', got '" << turns
          << "'";
      return signalPassFailure();
    }
    if (turns == "off")
      return;
    SmallVector<flow::GroupOp> groups;
    getOperation()->walk([&](flow::GroupOp group) { groups.push_back(group); });
    for (flow::GroupOp group : groups)
      orderReplicas(group);
  }

  void orderReplicas(flow::GroupOp group);
};
} // namespace

void InsertTurns::orderReplicas(flow::GroupOp group) {
  SmallVector<scf::ForOp> loops = findProductLoops(group);
  if (loops.empty())
    return;
  if (group.getReplicas() < 2) {
    group.emitRemark("has one replica, which needs no turns");
    return;
  }
  llvm::SmallSetVector<Operation *, 2> rings;
  for (scf::ForOp loop : loops) {
    flow::RingOp ring = findStepRing(loop);
    if (ring)
      rings.insert(ring);
    else
      loop.emitRemark("gets no turns: no product of it reads an entry that the "
                      "loop acquires from another group, so nothing says that "
                      "all replicas have as many steps");
  }
  for (Operation *ring : rings) {
    SmallVector<flow::AcquireOp> steps;
    group.walk([&](flow::AcquireOp acquire) {
      if (acquire.getRing().getDefiningOp() == ring)
        steps.push_back(acquire);
    });
    OpBuilder builder(group->getParentOp());
    Value order = flow::OrderOp::create(builder, group.getLoc());
    for (flow::AcquireOp acquire : steps) {
      Turn turn = findTurn(acquire);
      if (turn.first)
        builder.setInsertionPoint(turn.first);
      else
        builder.setInsertionPointAfter(acquire);
      Location loc = turn.first ? turn.first->getLoc() : acquire.getLoc();
      auto take = flow::TakeOp::create(builder, loc, order);
      if (turn.last)
        builder.setInsertionPointAfter(turn.last);
      flow::PassOp::create(builder, loc, take.getTurn());
      ++inserted;
    }
  }
}
