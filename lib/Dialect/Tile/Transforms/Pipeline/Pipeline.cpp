//===- Pipeline.cpp - tile-pipeline ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Expands scheduled loops with upstream's scf pipeliner. Bounds are run-time
// values, so the expansion is made for loops with enough iterations and stands
// beside the loop as it was, under a test.
//===----------------------------------------------------------------------===//

#include "../Utils.h"
#include "LoopProblem.h"
#include "fa3/Dialect/Tile/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa3::tile {
#define GEN_PASS_DEF_PIPELINE
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

static SlottingAttr getSlotting(Operation *op) {
  return op->getAttrOfType<SlottingAttr>(TileDialect::kSlottingAttrName);
}

static bool isScheduled(scf::ForOp loop) {
  return !loop.getBody()->without_terminator().empty() &&
         llvm::all_of(loop.getBody()->without_terminator(), [](Operation &op) {
           return static_cast<bool>(getSlotting(&op));
         });
}

/// Fails if some operations of a loop have a place in the schedule and others,
/// perhaps by an edit, have none.
static LogicalResult verifySchedule(scf::ForOp loop) {
  auto ops = loop.getBody()->without_terminator();
  auto hasPlace = [](Operation &op) { return bool(getSlotting(&op)); };
  auto missing = llvm::find_if_not(ops, hasPlace);
  if (missing == ops.end() || llvm::none_of(ops, hasPlace))
    return success();
  InFlightDiagnostic diagnostic = missing->emitOpError("has no '")
                                  << TileDialect::kSlottingAttrName
                                  << "', which others of its loop have";
  diagnostic.attachNote(loop.getLoc()) << "the loop";
  return diagnostic;
}

static int64_t getLastStage(scf::ForOp loop) {
  int64_t last = 0;
  for (Operation &op : loop.getBody()->without_terminator())
    last = std::max(last, getSlotting(&op).getStage());
  return last;
}

/// How many entries are in use at once from `start` of one to `end` of the
/// same: one per stage, and one more if the next is started first.
static int64_t countInUse(Operation *start, Operation *end) {
  SlottingAttr from = getSlotting(start), to = getSlotting(end);
  return to.getStage() - from.getStage() +
         (from.getOrder() < to.getOrder() ? 1 : 0);
}

static void deepenRing(warp::AcquireOp acquire, int64_t used) {
  warp::RingType type = acquire.getRing().getType();
  if (used > type.getDepth())
    acquire.getRing().setType(type.withDepth(used));
}

/// Where another group takes the entries that are read, to fill them; null for
/// several places.
static warp::AcquireOp findWriteOf(warp::AcquireOp reader) {
  warp::AcquireOp fill;
  for (Operation *user : reader.getRing().getUsers()) {
    auto acquire = dyn_cast<warp::AcquireOp>(user);
    if (!acquire || acquire.getSide() != warp::Side::write)
      continue;
    if (fill)
      return {};
    fill = acquire;
  }
  bool isOfOther = fill && fill->getParentOfType<warp::GroupOp>() !=
                               reader->getParentOfType<warp::GroupOp>();
  return isOfOther ? fill : warp::AcquireOp();
}

/// How many entries of `acquire` are needed up to `released`, so that who fills
/// both rings gets to the entry of `other`, where the loop waits for that
/// before it takes the entry of `acquire` that is filled in front: of the same
/// iteration, or of the one before.
static int64_t countAwaited(warp::AcquireOp acquire, Operation *released,
                            warp::AcquireOp other) {
  warp::AcquireOp fill = findWriteOf(acquire), last = findWriteOf(other);
  if (!fill || !last || fill->getBlock() != last->getBlock())
    return 0;
  int64_t before = fill->isBeforeInBlock(last) ? 0 : 1;
  SlottingAttr own = getSlotting(acquire), awaited = getSlotting(other);
  bool isAwaitedFirst =
      std::pair(awaited.getStage() + before, awaited.getOrder()) <
      std::pair(own.getStage(), own.getOrder());
  return isAwaitedFirst ? countInUse(other, released) - before : 0;
}

/// Deepens rings to the entries that the scheduled loop holds at once, those
/// that it fills itself to all from the copy to the release, and those that
/// another group fills so that it gets to what the loop waits for.
static void deepenRings(scf::ForOp loop) {
  auto acquires = loop.getBody()->getOps<warp::AcquireOp>();
  auto isRead = [](warp::AcquireOp op) {
    return op.getSide() == warp::Side::read;
  };
  for (warp::AcquireOp acquire : acquires) {
    auto deepen = [&](Value slot, warp::AcquireOp other) {
      for (Operation *user : slot.getUsers())
        if (isa<warp::ReleaseOp, warp::PublishOp>(user) && getSlotting(user))
          deepenRing(acquire, other ? countAwaited(acquire, user, other)
                                    : countInUse(acquire, user));
    };
    deepen(acquire.getSlot(), {});
    for (warp::AcquireOp other : acquires) {
      if (!isRead(other))
        continue;
      bool isOwn = other.getRing() == acquire.getRing();
      if (isOwn && !isRead(acquire))
        deepen(other.getSlot(), {});
      if (!isOwn && isRead(acquire))
        deepen(acquire.getSlot(), other);
    }
  }
}

/// The operations of a scheduled loop in the order of their positions.
static SmallVector<Operation *> getInOrder(scf::ForOp loop) {
  SmallVector<Operation *> ops;
  for (Operation &op : loop.getBody()->without_terminator())
    ops.push_back(&op);
  llvm::sort(ops, [](Operation *a, Operation *b) {
    return getSlotting(a).getOrder() < getSlotting(b).getOrder();
  });
  return ops;
}

/// Makes a view of its own for each later stage that looks at the slot of
/// `view`: a slot can be carried from iteration to iteration, what is borrowed
/// from it cannot. Returns the new views, each with the operation that it has
/// to come before.
static SmallVector<std::pair<ViewOp, Operation *>>
borrowInStages(ViewOp view, ArrayRef<Operation *> ops) {
  SmallVector<std::pair<ViewOp, Operation *>> borrowed;
  int64_t home = getSlotting(view).getStage();
  llvm::SmallDenseMap<int64_t, ViewOp> views;
  for (Operation *op : ops) {
    int64_t stage = getSlotting(op).getStage();
    auto isInOp = [&](OpOperand &use) {
      return op->isAncestor(use.getOwner());
    };
    if (stage == home || llvm::none_of(view->getUses(), isInOp))
      continue;
    ViewOp &own = views[stage];
    if (!own) {
      own = cast<ViewOp>(OpBuilder(op).clone(*view));
      own->setAttr(TileDialect::kSlottingAttrName,
                   SlottingAttr::get(view.getContext(), stage,
                                     getSlotting(op).getOrder()));
      borrowed.push_back({own, op});
    }
    view.getView().replaceUsesWithIf(own.getView(), isInOp);
  }
  return borrowed;
}

/// Borrows every slot anew in each stage that uses it, right before the first
/// use, and numbers the positions again.
static void borrowInStages(scf::ForOp loop) {
  SmallVector<Operation *> ops = getInOrder(loop);
  llvm::DenseMap<Operation *, SmallVector<ViewOp, 1>> before;
  for (ViewOp view : llvm::to_vector(loop.getBody()->getOps<ViewOp>()))
    for (auto [own, user] : borrowInStages(view, ops))
      before[user].push_back(own);
  if (before.empty())
    return;
  int64_t position = 0;
  auto place = [&](Operation *op) {
    op->setAttr(TileDialect::kSlottingAttrName,
                SlottingAttr::get(op->getContext(), getSlotting(op).getStage(),
                                  position++));
  };
  for (Operation *op : ops) {
    for (ViewOp view : before.lookup(op))
      place(view);
    place(op);
  }
}

/// Moves the operations of a loop into the order of their stages, and within a
/// stage of their positions: one iteration after the other. For loops of one
/// stage this is all there is to do.
static void reorder(scf::ForOp loop) {
  SmallVector<Operation *> ops;
  for (Operation &op : loop.getBody()->without_terminator())
    ops.push_back(&op);
  llvm::sort(ops, [](Operation *a, Operation *b) {
    SlottingAttr first = getSlotting(a), second = getSlotting(b);
    return std::pair(first.getStage(), first.getOrder()) <
           std::pair(second.getStage(), second.getOrder());
  });
  for (Operation *op : ops)
    op->moveBefore(loop.getBody()->getTerminator());
}

static void dropSchedule(Operation *root) {
  root->walk(
      [](Operation *op) { op->removeAttr(TileDialect::kSlottingAttrName); });
}

/// Calls the expander on `loop`, which runs for at least as many iterations as
/// there are stages before the last.
static FailureOr<scf::ForOp> expand(scf::ForOp loop) {
  llvm::SetVector<Value> predicates;
  scf::PipeliningOption options;
  options.supportDynamicLoops = true;
  options.peelEpilogue = true;
  options.getScheduleFn =
      [](scf::ForOp forOp,
         std::vector<std::pair<Operation *, unsigned>> &schedule) {
        for (Operation &op : forOp.getBody()->without_terminator())
          schedule.push_back({&op, getSlotting(&op).getStage()});
        llvm::sort(schedule, [](const auto &a, const auto &b) {
          return getSlotting(a.first).getOrder() <
                 getSlotting(b.first).getOrder();
        });
      };
  // The test around the expansion makes every predicate true.
  options.predicateFn = [&](RewriterBase &, Operation *op, Value predicate) {
    predicates.insert(predicate);
    return op;
  };
  IRRewriter rewriter(loop.getContext());
  rewriter.setInsertionPoint(loop);
  FailureOr<scf::ForOp> expanded =
      scf::pipelineForLoop(rewriter, loop, options);
  if (failed(expanded))
    return failure();
  for (Value predicate : predicates) {
    SmallVector<Operation *> users(predicate.getUsers());
    for (Operation *user : users)
      if (auto select = dyn_cast<arith::SelectOp>(user);
          select && select.getCondition() == predicate)
        rewriter.replaceOp(select, select.getTrueValue());
  }
  return expanded;
}

/// Waits for the product of the step before, where the loop carries its token,
/// in front of what makes the left operand anew: nothing else may wait for a
/// sum that the loop does not look at. Costs nothing where something does.
static void keepBehindLastStep(scf::ForOp loop, DotAsyncOp dot) {
  Operation *made = dot.getLhs().getDefiningOp();
  if (!made || made->getBlock() != loop.getBody() ||
      !isa<RankedTensorType>(dot.getLhs().getType()) || findAwait(dot))
    return;
  for (OpOperand &use : dot.getDone().getUses())
    if (use.getOwner() == loop.getBody()->getTerminator()) {
      OpBuilder b(made);
      warp::WaitOp::create(b, dot.getLoc(),
                           loop.getRegionIterArg(use.getOperandNumber()));
      return;
    }
}

/// Keeps the conversion of a product's next left operand behind the await of
/// the product, or a wait for it: until then the tensor core reads the
/// registers it writes.
static void keepBehindAwaits(scf::ForOp loop) {
  for (auto dot :
       llvm::make_early_inc_range(loop.getBody()->getOps<DotAsyncOp>())) {
    keepBehindLastStep(loop, dot);
    auto operand = dyn_cast<BlockArgument>(dot.getLhs());
    if (!operand || operand.getOwner() != loop.getBody() ||
        !isa<RankedTensorType>(operand.getType()))
      continue;
    Operation *next = loop.getBody()
                          ->getTerminator()
                          ->getOperand(operand.getArgNumber() - 1)
                          .getDefiningOp();
    AwaitOp await;
    for (Operation *user : dot.getResult().getUsers())
      if (auto candidate = dyn_cast<AwaitOp>(user))
        await = candidate;
    // A sum that nothing in the loop looks at is not awaited in it.
    if (!await && next && next->getBlock() == loop.getBody() &&
        dot->isBeforeInBlock(next)) {
      OpBuilder b(next);
      warp::WaitOp::create(b, dot.getLoc(), dot.getDone());
      continue;
    }
    if (!next || !await || next->getBlock() != loop.getBody() ||
        await->getBlock() != loop.getBody() || !await->isBeforeInBlock(next))
      continue;
    SmallVector<Value> kept(await.getKeep());
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : next->getOpOperands()) {
      Operation *def = use.get().getDefiningOp();
      if (isTile(use.get().getType()) && def &&
          def->getBlock() == loop.getBody() && def->isBeforeInBlock(await)) {
        kept.push_back(use.get());
        uses.push_back(&use);
      }
    }
    if (uses.empty())
      continue;
    ImplicitLocOpBuilder b(await.getLoc(), await);
    auto keeping = AwaitOp::create(b, await.getPending(), kept);
    for (auto [from, to] : llvm::zip(await.getResults(), keeping.getResults()))
      from.replaceAllUsesWith(to);
    for (auto [use, value] :
         llvm::zip(uses, keeping.getKept().take_back(uses.size())))
      use->set(value);
    await.erase();
  }
}

LogicalResult fa3::tile::pipelineLoop(scf::ForOp loop) {
  deepenRings(loop);
  borrowInStages(loop);
  int64_t lastStage = getLastStage(loop);
  if (lastStage == 0) {
    reorder(loop);
    dropSchedule(loop);
    return success();
  }
  // if lower + (lastStage - 1) * step < upper: expanded, else: as it was.
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  Value least = loop.getLowerBound();
  if (lastStage > 1) {
    Value skipped = arith::MulIOp::create(
        b, loop.getStep(), arith::ConstantIndexOp::create(b, lastStage - 1));
    least = arith::AddIOp::create(b, least, skipped);
  }
  Value enough = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, least,
                                       loop.getUpperBound());
  auto version = scf::IfOp::create(b, loop.getResultTypes(), enough,
                                   /*addThenBlock=*/true,
                                   /*addElseBlock=*/true);
  b.setInsertionPointToEnd(version.thenBlock());
  auto steady = cast<scf::ForOp>(b.clone(*loop));
  if (loop.getNumResults())
    scf::YieldOp::create(b, steady.getResults());
  b.setInsertionPointToEnd(version.elseBlock());
  // With two stages the other arm has no iterations at all.
  SmallVector<Value> otherwise(loop.getInitArgs());
  if (lastStage > 1) {
    auto few = cast<scf::ForOp>(b.clone(*loop));
    reorder(few);
    dropSchedule(few);
    otherwise.assign(few.getResults().begin(), few.getResults().end());
  }
  if (loop.getNumResults())
    scf::YieldOp::create(b, otherwise);
  if (loop.getNumResults() == 0)
    for (Block *arm : {version.thenBlock(), version.elseBlock()})
      if (arm->empty() || !arm->back().hasTrait<OpTrait::IsTerminator>()) {
        b.setInsertionPointToEnd(arm);
        scf::YieldOp::create(b);
      }
  loop.replaceAllUsesWith(version.getResults());
  Location loc = loop.getLoc();
  loop.erase();
  FailureOr<scf::ForOp> expanded = expand(steady);
  if (failed(expanded))
    return emitError(loc) << "the pipeline expander refused the schedule of "
                             "this loop";
  keepBehindAwaits(*expanded);
  dropSchedule(version);
  return success();
}

namespace {
struct Pipeline : fa3::tile::impl::PipelineBase<Pipeline> {
  using PipelineBase::PipelineBase;
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    WalkResult result = getOperation()->walk([&](scf::ForOp loop) {
      if (failed(verifySchedule(loop)))
        return WalkResult::interrupt();
      if (isScheduled(loop))
        loops.push_back(loop);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (scf::ForOp loop : loops)
      if (failed(pipelineLoop(loop)))
        return signalPassFailure();
    pipelined += loops.size();
  }
};
} // namespace
