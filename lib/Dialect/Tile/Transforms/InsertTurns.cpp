//===- InsertTurns.cpp - tile-insert-turns --------------------------------===//
//
// What makes the numbers of turns equal is the ring they are tied to: however a
// loop was split, expanded or skipped, every replica acquires each entry once.
//
//===----------------------------------------------------------------------===//

#include "Utils.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "fa3/Scheduling/DeviceModel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
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
// What pays
//===----------------------------------------------------------------------===//

/// Cycles that a quarter of the multiprocessor is busy with `op` of one
/// replica; 0 for what costs nothing or is no element code.
static int64_t getElementCycles(Operation *op) {
  constexpr int64_t kThreads = 128;
  bool isElementwise =
      OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1;
  Value tile = isElementwise ? op->getResult(0) : Value();
  if (auto reduce = dyn_cast<ReduceOp>(op))
    tile = reduce.getSource();
  auto type = tile ? dyn_cast<RankedTensorType>(tile.getType()) : nullptr;
  if (!type || type.getRank() < 2)
    return 0;
  int64_t cycles = device::kFmaCycles;
  if (isa<math::Exp2Op, math::ExpOp, math::LogOp, math::Log2Op, math::TanhOp,
          math::RsqrtOp, arith::DivFOp>(op))
    cycles = device::kSfuCycles;
  else if (isa<CastOpInterface>(op))
    cycles = device::kConvertCycles;
  return type.getNumElements() / kThreads * cycles;
}

static int64_t getProductCycles(DotAsyncOp dot) {
  RankedTensorType lhs = getTileType(dot.getLhs().getType());
  RankedTensorType rhs = getTileType(dot.getRhs().getType());
  auto shape = getDotShape(lhs, rhs, dot.getLhsOrder(), dot.getRhsOrder());
  int64_t rate = device::kTensorMacs16 * 16 /
                 static_cast<int64_t>(rhs.getElementTypeBitWidth());
  return shape.m * shape.n * shape.k / std::max<int64_t>(rate, 1);
}

/// Whether the element code of the loop leaves the tensor core idle that other
/// replicas could use: no product is in flight meanwhile, and the products of
/// all are a considerable part of it.
static bool leavesProductsIdle(scf::ForOp loop, int64_t replicas) {
  constexpr int64_t kPart = 4;
  llvm::SmallPtrSet<Operation *, 4> inFlight;
  int64_t products = 0, elements = 0;
  for (Operation &op : *loop.getBody()) {
    if (auto dot = dyn_cast<DotAsyncOp>(op)) {
      products += getProductCycles(dot);
      inFlight.insert(dot);
    } else if (auto await = dyn_cast<AwaitOp>(op)) {
      inFlight.erase(await.getPending().getDefiningOp());
    } else if (int64_t cycles = getElementCycles(&op)) {
      if (!inFlight.empty())
        return false;
      elements += cycles;
    }
  }
  return elements > 0 && products * replicas * kPart >= elements;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct InsertTurns : fa3::tile::impl::InsertTurnsBase<InsertTurns> {
  using InsertTurnsBase::InsertTurnsBase;

  void runOnOperation() override {
    if (turns != "auto" && turns != "on" && turns != "off") {
      emitError(getOperation()->getLoc())
          << "tile-insert-turns expects turns to be auto, on or off, got '"
          << turns << "'";
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
  bool isAsked = turns == "on";
  int64_t replicas = group.getReplicas();
  if (loops.empty())
    return;
  if (replicas < 2) {
    if (isAsked)
      group.emitRemark("has one replica, which needs no turns");
    return;
  }
  llvm::SmallSetVector<Operation *, 2> rings;
  for (scf::ForOp loop : loops) {
    flow::RingOp ring = findStepRing(loop);
    if (!ring) {
      if (isAsked)
        loop.emitRemark("gets no turns: no product of it reads an entry that "
                        "the loop acquires from another group, so nothing says "
                        "that all replicas have as many steps");
    } else if (isAsked || leavesProductsIdle(loop, replicas)) {
      rings.insert(ring);
    }
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
