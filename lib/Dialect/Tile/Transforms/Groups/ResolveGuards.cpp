//===- ResolveGuards.cpp - tile-resolve-guards ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Utils.h"
#include "fa3/Dialect/Tile/Analysis/PredicateRange.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa3::tile {
#define GEN_PASS_DEF_RESOLVEGUARDS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// Replaces the guard of a loop's body by one of its arms.
static void takeArm(scf::ForOp loop, bool live) {
  scf::IfOp guard = matchGuardedBody(loop)->guard;
  Block *arm = live ? guard.thenBlock() : guard.elseBlock();
  Operation *yield = arm->getTerminator();
  guard->getBlock()->getOperations().splice(guard->getIterator(),
                                            arm->getOperations(), arm->begin(),
                                            yield->getIterator());
  guard.replaceAllUsesWith(SmallVector<Value>(yield->getOperands()));
  guard.erase();
}

/// In a loop that only keeps the rings moving, gives each slot back right after
/// it was acquired: holding one while waiting for another could block the
/// writer of both.
static void releaseAtOnce(scf::ForOp loop) {
  for (auto release :
       llvm::make_early_inc_range(loop.getBody()->getOps<warp::ReleaseOp>())) {
    auto acquire = release.getSlot().getDefiningOp<warp::AcquireOp>();
    if (!acquire || acquire->getBlock() != loop.getBody())
      continue;
    for (Operation *user :
         llvm::make_early_inc_range(release.getSlot().getUsers()))
      if (isa<ViewOp>(user) && user->use_empty())
        user->erase();
    if (release.getSlot().hasOneUse())
      release->moveAfter(acquire);
  }
}

/// Moves the loop into a branch that is taken if all conditions are at least 0;
/// the other only keeps the rings moving.
static void branchOn(ArrayRef<AffineForm> conditions, scf::ForOp loop) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  Value zero = arith::ConstantIndexOp::create(b, 0), live;
  for (const AffineForm &form : conditions) {
    Value holds = arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                        materialize(b, b.getLoc(), form), zero);
    live = live ? arith::AndIOp::create(b, live, holds).getResult() : holds;
  }
  auto branch = scf::IfOp::create(b, loop.getResultTypes(), live,
                                  /*withElseRegion=*/true);
  loop.replaceAllUsesWith(branch.getResults());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::ForOp dead = cloneLoop(b, loop, loop.getLowerBound(),
                              loop.getUpperBound(), loop.getInitArgs());
  takeArm(dead, /*live=*/false);
  releaseAtOnce(dead);
  scf::YieldOp::create(b, dead.getResults());
  b.setInsertionPointToStart(branch.thenBlock());
  auto yield = scf::YieldOp::create(b, loop.getResults());
  loop->moveBefore(yield);
}

/// Whether no iteration is in front of the bound: the loop begins at or behind
/// it, or at its own end.
static bool beginsAt(const Bound &bound, Value lower, Value upper) {
  auto least = lower.getDefiningOp<arith::MinSIOp>();
  for (unsigned i = 0; least && i < 2; ++i)
    if (least->getOperand(i) == upper &&
        bound.provesAtMost(least->getOperand(1 - i)))
      return true;
  return bound.provesAtMost(lower);
}

/// Gives the number of dead ranges split off.
static unsigned resolve(scf::ForOp loop) {
  hoistScalars(loop);
  LoopScalars scalars(loop.getInductionVar());
  Interval possible =
      classifyPredicate(matchGuardedBody(loop)->condition.getMask(), scalars)
          .possible;
  if (!possible.conditions.empty())
    branchOn(possible.conditions, loop);
  Location loc = loop.getLoc();
  OpBuilder builder(loop);
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  Value begin = lower, end = upper;
  if (!beginsAt(possible.lower, lower, upper))
    begin = possible.lower.materialize(builder, loc, lower, upper);
  if (!possible.upper.provesAtLeast(getAffineForm(upper)))
    end = possible.upper.materialize(builder, loc, begin, upper);

  unsigned dead = !possible.conditions.empty();
  if (end != upper) {
    builder.setInsertionPointAfter(loop);
    scf::ForOp after = cloneLoop(builder, loop, end, upper, loop.getInitArgs());
    loop.replaceAllUsesWith(after.getResults());
    after.getInitArgsMutable().assign(loop.getResults());
    takeArm(after, /*live=*/false);
    releaseAtOnce(after);
    ++dead;
  }
  if (begin != lower) {
    builder.setInsertionPoint(loop);
    scf::ForOp before =
        cloneLoop(builder, loop, lower, begin, loop.getInitArgs());
    loop.getInitArgsMutable().assign(before.getResults());
    takeArm(before, /*live=*/false);
    releaseAtOnce(before);
    ++dead;
  }
  loop.getLowerBoundMutable().assign(begin);
  loop.getUpperBoundMutable().assign(end);
  takeArm(loop, /*live=*/true);
  return dead;
}

namespace {
struct ResolveGuards : fa3::tile::impl::ResolveGuardsBase<ResolveGuards> {
  using ResolveGuardsBase::ResolveGuardsBase;
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      if (loop->getParentOfType<warp::GroupOp>() && matchGuardedBody(loop))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      dead += resolve(loop);
    resolved += loops.size();
    // Where no loop is left, or the guard is not all that an iteration does.
    getOperation()->walk([&](AnyPossibleOp guard) {
      if (!guard->getParentOfType<warp::GroupOp>())
        return;
      OpBuilder builder(guard);
      guard.replaceAllUsesWith(
          arith::ConstantIntOp::create(builder, guard.getLoc(), 1, 1)
              .getResult());
      guard.erase();
    });
  }
};
} // namespace
