//===- SplitByPredicate.cpp - tile-split-by-predicate ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Utils.h"
#include "fa3/Dialect/Tile/Analysis/PredicateRange.h"
#include "fa3/Dialect/Tile/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fa3::tile {
#define GEN_PASS_DEF_SPLITBYPREDICATE
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// Drops selects whose condition is true for all elements, and what only
/// computed the condition.
static void assumeTrue(ArrayRef<arith::SelectOp> selects) {
  for (arith::SelectOp select : selects) {
    Operation *condition = select.getCondition().getDefiningOp();
    select.getResult().replaceAllUsesWith(select.getTrueValue());
    select.erase();
    SmallVector<Operation *> worklist = {condition};
    while (!worklist.empty()) {
      Operation *op = worklist.pop_back_val();
      if (!op || !isOpTriviallyDead(op))
        continue;
      for (Value operand : op->getOperands())
        if (!llvm::is_contained(worklist, operand.getDefiningOp()))
          worklist.push_back(operand.getDefiningOp());
      op->erase();
    }
  }
}

/// A scalar comparison, and where it is known once a loop is split.
struct ScalarFact {
  arith::CmpIOp compare;
  bool holdsInside, failsInFront, failsBehind;
};

/// Comparisons of the loop that are part of a mask and choose between scalars,
/// where the range of the mask decides them: each piece computes what it takes.
static SmallVector<ScalarFact>
collectFacts(scf::ForOp loop, const Interval &always, LoopScalars &scalars) {
  SmallVector<ScalarFact> facts;
  if (always.isNone())
    return facts;
  for (auto compare : loop.getBody()->getOps<arith::CmpIOp>()) {
    auto isUsedBy = [&](auto pred) {
      return llvm::any_of(compare->getUsers(), pred);
    };
    if (!compare.getType().isInteger(1) ||
        !isUsedBy(llvm::IsaPred<arith::SelectOp>) ||
        !isUsedBy(llvm::IsaPred<tensor::SplatOp>))
      continue;
    PredicateRange range = classifyPredicate(compare, scalars);
    ScalarFact fact{compare, false, false, false};
    fact.holdsInside = !range.always.isNone() &&
                       range.always.conditions.empty() &&
                       always.lower.provesAtLeast(range.always.lower) &&
                       range.always.upper.provesAtLeast(always.upper);
    fact.failsInFront = range.possible.lower.provesAtLeast(always.lower);
    fact.failsBehind = always.upper.provesAtLeast(range.possible.upper);
    if (fact.holdsInside || fact.failsInFront || fact.failsBehind)
      facts.push_back(fact);
  }
  return facts;
}

/// Moves the loop into a branch that is taken if all conditions are at least 0;
/// the other has a copy of it.
static void branchOn(ArrayRef<AffineForm> conditions, scf::ForOp loop) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), holds;
  for (const AffineForm &form : conditions) {
    Value one = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                      materialize(builder, loc, form), zero);
    holds = holds ? arith::AndIOp::create(builder, loc, holds, one).getResult()
                  : one;
  }
  auto branch = scf::IfOp::create(builder, loc, loop.getResultTypes(), holds,
                                  /*withElseRegion=*/true);
  loop.replaceAllUsesWith(branch.getResults());
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::ForOp copy = cloneLoop(builder, loop, loop.getLowerBound(),
                              loop.getUpperBound(), loop.getInitArgs());
  scf::YieldOp::create(builder, loc, copy.getResults());
  builder.setInsertionPointToStart(branch.thenBlock());
  auto yield = scf::YieldOp::create(builder, loc, loop.getResults());
  loop->moveBefore(yield);
}

namespace {
/// A loop of which copies run over ranges of its iterations.
class Pieces {
public:
  Pieces(scf::ForOp loop, ArrayRef<arith::SelectOp> selects,
         ArrayRef<ScalarFact> facts)
      : loop(loop), selects(selects), facts(facts), builder(loop),
        loc(loop.getLoc()), carried(loop.getInitArgs()) {}

  /// Iterations in front of `begin`, if there are any, from there to `end`, and
  /// behind, one after the other.
  void copyApart(Value begin, Value end, bool hasFront, bool hasBehind) {
    if (hasFront)
      copy(loop.getLowerBound(), begin, Front);
    copy(begin, end, Inside);
    if (hasBehind)
      copy(end, loop.getUpperBound(), Behind);
  }
  /// The same in a loop of two rounds, so that what is in front and what is
  /// behind are one piece of code: first what is in front and the certain ones,
  /// then what is behind and none.
  void copyTogether(Value begin, Value end);
  /// The selects of the certain iterations take their first value; the loop
  /// goes.
  void finish() {
    assumeTrue(certain);
    loop.replaceAllUsesWith(carried);
    loop.erase();
  }

private:
  enum Piece { Front, Inside, Behind, FrontAndBehind };
  void copy(Value from, Value to, Piece piece);

  scf::ForOp loop;
  ArrayRef<arith::SelectOp> selects;
  ArrayRef<ScalarFact> facts;
  OpBuilder builder;
  Location loc;
  SmallVector<Value> carried;
  SmallVector<arith::SelectOp> certain;
};
} // namespace

void Pieces::copy(Value from, Value to, Piece piece) {
  IRMapping mapping;
  auto copy = cast<scf::ForOp>(builder.clone(*loop, mapping));
  copy.getLowerBoundMutable().assign(from);
  copy.getUpperBoundMutable().assign(to);
  copy.getInitArgsMutable().assign(carried);
  carried.assign(copy.getResults().begin(), copy.getResults().end());
  if (piece == Inside)
    for (arith::SelectOp select : selects)
      certain.push_back(
          cast<arith::SelectOp>(mapping.lookup(select.getOperation())));
  for (ScalarFact fact : facts) {
    bool isKnown = piece == Inside   ? fact.holdsInside
                   : piece == Front  ? fact.failsInFront
                   : piece == Behind ? fact.failsBehind
                                     : fact.failsInFront && fact.failsBehind;
    if (!isKnown)
      continue;
    OpBuilder inCopy(mapping.lookup(fact.compare.getOperation()));
    Value known = arith::ConstantIntOp::create(inCopy, loc, piece == Inside, 1);
    mapping.lookup(fact.compare.getResult()).replaceAllUsesWith(known);
  }
}

void Pieces::copyTogether(Value begin, Value end) {
  auto index = [&](int64_t n) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, n);
  };
  Value zero = index(0), one = index(1), two = index(2);
  auto rounds = scf::ForOp::create(builder, loc, zero, two, one, carried);
  builder.setInsertionPointToStart(rounds.getBody());
  carried.assign(rounds.getRegionIterArgs().begin(),
                 rounds.getRegionIterArgs().end());
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        rounds.getInductionVar(), zero);
  auto pick = [&](Value first, Value second) -> Value {
    return arith::SelectOp::create(builder, loc, isFirst, first, second);
  };
  Value from = pick(loop.getLowerBound(), end);
  Value to = pick(begin, loop.getUpperBound());
  copy(from, to, FrontAndBehind);
  copy(begin, pick(end, begin), Inside);
  scf::YieldOp::create(builder, loc, carried);
  carried.assign(rounds.getResults().begin(), rounds.getResults().end());
}

/// Splits a loop by a mask that holds in `always`, if it is to be split by it.
static bool splitBy(const Interval &always, LoopScalars &scalars,
                    SmallVectorImpl<arith::SelectOp> &selects, scf::ForOp loop,
                    options::Edges edges) {
  AffineForm lower = getAffineForm(loop.getLowerBound());
  AffineForm upper = getAffineForm(loop.getUpperBound());
  if (always.provesEmpty() || always.lower.provesAtLeast(upper) ||
      always.upper.provesAtMost(lower))
    return false;
  bool fromStart = always.lower.provesAtMost(lower);
  bool toEnd = always.upper.provesAtLeast(upper);
  bool isAlways = fromStart && toEnd && always.conditions.empty();
  if (edges == options::Edges::None && !isAlways)
    return false;
  SmallVector<ScalarFact> facts = collectFacts(loop, always, scalars);
  if (!always.conditions.empty())
    branchOn(always.conditions, loop);
  if (fromStart && toEnd) {
    assumeTrue(selects);
    return true;
  }
  Location loc = loop.getLoc();
  OpBuilder builder(loop);
  Value begin = loop.getLowerBound(), end = loop.getUpperBound();
  if (!fromStart)
    begin = always.lower.materialize(builder, loc, loop.getLowerBound(),
                                     loop.getUpperBound());
  if (!toEnd)
    end = always.upper.materialize(builder, loc, begin, loop.getUpperBound());
  Pieces pieces(loop, selects, facts);
  if (fromStart || toEnd || edges == options::Edges::Apart)
    pieces.copyApart(begin, end, !fromStart, !toEnd);
  else
    pieces.copyTogether(begin, end);
  pieces.finish();
  return true;
}

bool fa3::tile::splitByPredicate(scf::ForOp loop, options::Edges edges) {
  if (!isOne(loop.getStep()))
    return false;
  llvm::MapVector<Value, SmallVector<arith::SelectOp>> selectsOf;
  for (arith::SelectOp select : loop.getBody()->getOps<arith::SelectOp>())
    if (isa<RankedTensorType>(select.getCondition().getType()))
      selectsOf[select.getCondition()].push_back(select);
  if (!selectsOf.empty())
    hoistScalars(loop);
  for (auto &[mask, selects] : selectsOf) {
    LoopScalars scalars(loop.getInductionVar());
    Interval always = classifyPredicate(mask, scalars).always;
    if (splitBy(always, scalars, selects, loop, edges))
      return true;
  }
  return false;
}

namespace {
struct SplitByPredicate
    : fa3::tile::impl::SplitByPredicateBase<SplitByPredicate> {
  using SplitByPredicateBase::SplitByPredicateBase;
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      if (loop->getParentOfType<gpu::GPUFuncOp>())
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      this->splitLoops += splitByPredicate(loop, edges);
  }
};
} // namespace
