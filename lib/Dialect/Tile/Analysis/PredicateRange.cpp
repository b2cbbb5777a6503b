//===- PredicateRange.cpp - where a mask is all false or true -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Tile/Analysis/PredicateRange.h"
#include "fa3/Dialect/Tile/Analysis/QuotientForm.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Dialect/Warp/IR/Warp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

//===----------------------------------------------------------------------===//
// Bound
//===----------------------------------------------------------------------===//

Bound Bound::negativeInfinity() { return Bound(Kind::NegativeInfinity); }
Bound Bound::positiveInfinity() { return Bound(Kind::PositiveInfinity); }

Bound Bound::ceilDiv(AffineForm form, int64_t divisor) {
  Bound bound(Kind::Ceil);
  bound.form = std::move(form);
  bound.divisor = divisor;
  return bound;
}

Bound Bound::floorDivPlusOne(AffineForm form, int64_t divisor) {
  Bound bound(Kind::Floor);
  bound.form = std::move(form);
  bound.divisor = divisor;
  return bound;
}

/// Replaces a part of `tree`, a minimum or maximum of parts or one part, that
/// is `part` but for a constant by the less or the greater of the two.
std::optional<Bound> Bound::absorb(const Bound &tree, const Bound &part,
                                   Kind kind) {
  if (tree.kind == kind) {
    for (auto side : {&Bound::lhs, &Bound::rhs})
      if (std::optional<Bound> merged = absorb(*(tree.*side), part, kind)) {
        Bound bound = tree;
        bound.*side = std::make_shared<Bound>(std::move(*merged));
        return bound;
      }
    return std::nullopt;
  }
  bool isQuotient = tree.kind == Kind::Ceil || tree.kind == Kind::Floor;
  if (!isQuotient || tree.kind != part.kind || tree.divisor != part.divisor)
    return std::nullopt;
  AffineForm difference = tree.form - part.form;
  if (!difference.isConstant())
    return std::nullopt;
  return (difference.constant <= 0) == (kind == Kind::Min) ? tree : part;
}

/// The minimum or maximum of two bounds, in as few parts as can be seen.
Bound Bound::combine(Bound a, Bound b, Kind kind) {
  if (b.kind == kind)
    return combine(combine(std::move(a), *b.lhs, kind), *b.rhs, kind);
  if (std::optional<Bound> merged = absorb(a, b, kind))
    return *merged;
  Bound bound(kind);
  bound.lhs = std::make_shared<Bound>(std::move(a));
  bound.rhs = std::make_shared<Bound>(std::move(b));
  return bound;
}

Bound Bound::min(Bound a, Bound b) {
  if (a.isNegativeInfinity() || b.isPositiveInfinity())
    return a;
  if (b.isNegativeInfinity() || a.isPositiveInfinity())
    return b;
  return combine(std::move(a), std::move(b), Kind::Min);
}

Bound Bound::max(Bound a, Bound b) {
  if (a.isPositiveInfinity() || b.isNegativeInfinity())
    return a;
  if (b.isPositiveInfinity() || a.isNegativeInfinity())
    return b;
  return combine(std::move(a), std::move(b), Kind::Max);
}

Value Bound::emit(OpBuilder &builder, Location loc, Value least,
                  Value greatest) const {
  auto quotient = [&](auto create) -> Value {
    Value numerator = tile::materialize(builder, loc, form);
    if (divisor == 1)
      return numerator;
    Value d = arith::ConstantIndexOp::create(builder, loc, divisor);
    return create(numerator, d);
  };
  switch (kind) {
  case Kind::NegativeInfinity:
    return least;
  case Kind::PositiveInfinity:
    return greatest;
  case Kind::Ceil:
    return quotient([&](Value n, Value d) -> Value {
      return arith::CeilDivSIOp::create(builder, loc, n, d);
    });
  case Kind::Floor: {
    Value floor = quotient([&](Value n, Value d) -> Value {
      return arith::FloorDivSIOp::create(builder, loc, n, d);
    });
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    return arith::AddIOp::create(builder, loc, floor, one);
  }
  case Kind::Min:
  case Kind::Max: {
    Value right = rhs->emit(builder, loc, least, greatest);
    Value left = lhs->emit(builder, loc, least, greatest);
    if (kind == Kind::Min)
      return arith::MinSIOp::create(builder, loc, left, right);
    return arith::MaxSIOp::create(builder, loc, left, right);
  }
  }
  return {};
}

/// The bound without parts of minima and maxima that do not matter once the
/// result is clamped to [least, greatest].
Bound Bound::simplify(const AffineForm &least,
                      const AffineForm &greatest) const {
  if (kind != Kind::Min && kind != Kind::Max) {
    if (provesAtMost(least))
      return negativeInfinity();
    if (provesAtLeast(greatest))
      return positiveInfinity();
    return *this;
  }
  Bound a = lhs->simplify(least, greatest), b = rhs->simplify(least, greatest);
  return kind == Kind::Min ? min(a, b) : max(a, b);
}

Value Bound::materialize(OpBuilder &builder, Location loc, Value least,
                         Value greatest) const {
  Bound simple = simplify(getAffineForm(least), getAffineForm(greatest));
  Value value = simple.emit(builder, loc, least, greatest);
  if (value != least)
    value = arith::MaxSIOp::create(builder, loc, value, least);
  if (value != greatest)
    value = arith::MinSIOp::create(builder, loc, value, greatest);
  return value;
}

bool Bound::provesAtMost(Value value) const {
  if (auto greater = value.getDefiningOp<arith::MaxSIOp>())
    return provesAtMost(greater.getLhs()) || provesAtMost(greater.getRhs());
  if (auto less = value.getDefiningOp<arith::MinSIOp>())
    return provesAtMost(less.getLhs()) && provesAtMost(less.getRhs());
  auto quotient = value.getDefiningOp<arith::CeilDivSIOp>();
  if (quotient && kind == Kind::Ceil &&
      getConstantIntValue(quotient.getRhs()) == divisor &&
      provesNonNegative(getAffineForm(quotient.getLhs()) - form))
    return true;
  return provesAtMost(getAffineForm(value));
}

bool Bound::provesAtMost(const AffineForm &value) const {
  switch (kind) {
  case Kind::NegativeInfinity:
    return true;
  case Kind::PositiveInfinity:
    return false;
  case Kind::Ceil: // ceil(f / d) <= v  iff  f <= d * v
    return provesNonNegative(value * divisor - form);
  case Kind::Floor: // floor(f / d) + 1 <= v  iff  f < d * v
    return provesNonNegative(value * divisor - form + AffineForm(-1));
  case Kind::Min:
    return lhs->provesAtMost(value) || rhs->provesAtMost(value);
  case Kind::Max:
    return lhs->provesAtMost(value) && rhs->provesAtMost(value);
  }
  return false;
}

bool Bound::provesAtLeast(const AffineForm &value) const {
  switch (kind) {
  case Kind::NegativeInfinity:
    return false;
  case Kind::PositiveInfinity:
    return true;
  case Kind::Ceil: // ceil(f / d) >= v  iff  f > d * (v - 1)
    return provesNonNegative(form - value * divisor + AffineForm(divisor - 1));
  case Kind::Floor: // floor(f / d) + 1 >= v  iff  f >= d * (v - 1)
    return provesNonNegative(form - value * divisor + AffineForm(divisor));
  case Kind::Min:
    return lhs->provesAtLeast(value) && rhs->provesAtLeast(value);
  case Kind::Max:
    return lhs->provesAtLeast(value) || rhs->provesAtLeast(value);
  }
  return false;
}

bool Bound::provesAtLeast(const Bound &other) const {
  unsigned budget = 256;
  return compare(other, budget);
}

bool Bound::compare(const Bound &other, unsigned &budget) const {
  if (budget == 0)
    return false;
  --budget;
  // First what has to hold for both parts, then what may for one.
  if (other.kind == Kind::Max)
    return compare(*other.lhs, budget) && compare(*other.rhs, budget);
  if (kind == Kind::Min)
    return lhs->compare(other, budget) && rhs->compare(other, budget);
  if (other.kind == Kind::Min)
    return compare(*other.lhs, budget) || compare(*other.rhs, budget);
  if (kind == Kind::Max)
    return lhs->compare(other, budget) || rhs->compare(other, budget);
  if (isPositiveInfinity() || other.isNegativeInfinity())
    return true;
  if (isNegativeInfinity() || other.isPositiveInfinity() ||
      divisor != other.divisor)
    return false;
  // ceil(f / d) >= floor(g / d) + 1 if f > g; else f >= g suffices.
  bool isStrict = kind == Kind::Ceil && other.kind == Kind::Floor;
  return provesNonNegative(form - other.form + AffineForm(isStrict ? -1 : 0));
}

Interval Interval::all() {
  return {Bound::negativeInfinity(), Bound::positiveInfinity()};
}
Interval Interval::none() {
  return {Bound::positiveInfinity(), Bound::negativeInfinity()};
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

LoopScalars::LoopScalars(Value iv)
    : iv(iv), builder(iv.getParentRegion()->getParentOp()) {}

LoopScalars::~LoopScalars() {
  for (Operation *op : llvm::reverse(emitted))
    if (isOpTriviallyDead(op))
      op->erase();
}

AffineForm LoopScalars::floorDiv(const AffineForm &numerator, int64_t divisor) {
  if (numerator.isConstant())
    return AffineForm(llvm::divideFloorSigned(numerator.constant, divisor));
  Operation *loop = iv.getParentRegion()->getParentOp();
  Location loc = loop->getLoc();
  builder.setInsertionPoint(loop);
  Operation *before = loop->getPrevNode();
  Value dividend = tile::materialize(builder, loc, numerator);
  Value number = arith::ConstantIndexOp::create(builder, loc, divisor);
  Value quotient = arith::FloorDivSIOp::create(builder, loc, dividend, number);
  Block::iterator first =
      before ? std::next(before->getIterator()) : loop->getBlock()->begin();
  for (Operation &op : llvm::make_range(first, loop->getIterator()))
    emitted.push_back(&op);
  AffineForm form;
  form.add(quotient, 1);
  return form;
}

//===----------------------------------------------------------------------===//
// Classification
//===----------------------------------------------------------------------===//

/// Sums that one comparison is taken apart into, at most.
static constexpr unsigned kMostSums = 64;

/// Whether all atoms have one value in all iterations of the loop of `iv`.
static bool isInvariant(const AffineForm &form, Value iv) {
  Region *body = iv.getParentRegion();
  return llvm::none_of(form.terms, [&](auto term) {
    return body->isAncestor(term.first.getParentRegion());
  });
}

/// The t for which form >= 0; `unknown` if no bound of t can be read from it.
static Interval solve(const AffineForm &form, Value iv,
                      const Interval &unknown) {
  if (form.isConstant())
    return form.constant >= 0 ? Interval::all() : Interval::none();
  int64_t slope = form.getCoefficient(iv);
  AffineForm rest = form.without(iv);
  if (slope != 0 && isInvariant(rest, iv)) {
    if (slope > 0) // t >= -rest / slope
      return {Bound::ceilDiv(rest * -1, slope), Bound::positiveInfinity()};
    // t <= rest / -slope
    return {Bound::negativeInfinity(), Bound::floorDivPlusOne(rest, -slope)};
  }
  if (provesNonNegative(form))
    return Interval::all();
  if (provesNonNegative(form * -1 + AffineForm(-1)))
    return Interval::none();
  return unknown;
}

static PredicateRange unknownRange() {
  return {Interval::all(), Interval::none()};
}

/// form >= 0 over a tile, whose least and greatest value are given. What is the
/// same for all t is a condition.
static PredicateRange classifyAtom(const AffineForm &least,
                                   const AffineForm &greatest, Value iv) {
  auto solveCorner = [&](const AffineForm &corner, Interval unknown) {
    if (corner.getCoefficient(iv) == 0 && isInvariant(corner, iv)) {
      unknown = Interval::all();
      unknown.conditions.push_back(corner);
    }
    return solve(corner, iv, unknown);
  };
  return {solveCorner(greatest, Interval::all()),
          solveCorner(least, Interval::none())};
}

static Interval intersect(const Interval &a, const Interval &b) {
  Interval both{Bound::max(a.lower, b.lower), Bound::min(a.upper, b.upper),
                a.conditions};
  llvm::append_range(both.conditions, b.conditions);
  return both;
}

/// Around the union; what either needs does not bind the other.
static Interval hull(const Interval &a, const Interval &b) {
  if (a.isNone())
    return b;
  if (b.isNone())
    return a;
  return {Bound::min(a.lower, b.lower), Bound::max(a.upper, b.upper)};
}

/// A range inside the union: the union itself where both are unbounded on the
/// same side, otherwise the first that is not empty. One with conditions is
/// taken alone, if the other says less.
static Interval innerUnion(const Interval &a, const Interval &b) {
  if (!a.isNone() && !b.isNone() &&
      !(a.conditions.empty() && b.conditions.empty()))
    return a.conditions.empty() ? a : b.conditions.empty() ? b : a;
  bool sameSide =
      (a.lower.isNegativeInfinity() && b.lower.isNegativeInfinity()) ||
      (a.upper.isPositiveInfinity() && b.upper.isPositiveInfinity());
  if (a.isNone() || b.isNone() || sameSide)
    return hull(a, b);
  return b.isAll() ? b : a;
}

static PredicateRange conjunction(const PredicateRange &a,
                                  const PredicateRange &b) {
  return {intersect(a.possible, b.possible), intersect(a.always, b.always)};
}

static PredicateRange disjunction(const PredicateRange &a,
                                  const PredicateRange &b) {
  return {hull(a.possible, b.possible), innerUnion(a.always, b.always)};
}

/// Whether replicas of a group wait for each other in every step: one makes the
/// copies of all, or each a part of what all read.
static bool keepsStep(warp::GroupOp group) {
  return group
      .walk([](warp::CursorOp cursor) {
        return WalkResult(failure(cursor.getLeader() || cursor.getEach()));
      })
      .wasInterrupted();
}

/// In such a group steps are the same in all replicas: the replica becomes one
/// more coordinate.
static void spreadOverReplicas(TileForm &form) {
  for (auto [atom, coefficient] : llvm::to_vector(form.base.terms)) {
    auto argument = dyn_cast<BlockArgument>(atom);
    auto group =
        argument ? dyn_cast<warp::GroupOp>(argument.getOwner()->getParentOp())
                 : warp::GroupOp();
    if (!group || !keepsStep(group))
      continue;
    form.base.add(atom, -coefficient);
    form.coordinates.push_back(
        {coefficient, static_cast<int64_t>(group.getReplicas())});
  }
}

/// form >= 0 over a tile.
static PredicateRange classifyForm(QuotientForm form, LoopScalars &scalars) {
  Value iv = scalars.getInductionVar();
  spreadOverReplicas(form.rest);
  for (QuotientForm::Quotient &quotient : form.quotients)
    spreadOverReplicas(quotient.numerator);

  auto isFixed = [&](const AffineForm &base) {
    return base.getCoefficient(iv) == 0 && isInvariant(base, iv);
  };
  auto *moving = llvm::find_if(form.quotients, [&](const auto &quotient) {
    return !isFixed(quotient.numerator.base);
  });
  if (moving != form.quotients.end() && !form.solveFor(moving, isFixed))
    return unknownRange();

  AffineForm least = form.rest.getLeast(), greatest = form.rest.getGreatest();
  for (const QuotientForm::Quotient &quotient : form.quotients) {
    if (!isFixed(quotient.numerator.base))
      return unknownRange();
    int64_t factor = quotient.coefficient;
    AffineForm low =
        scalars.floorDiv(quotient.numerator.getLeast(), quotient.divisor) *
        factor;
    AffineForm high =
        scalars.floorDiv(quotient.numerator.getGreatest(), quotient.divisor) *
        factor;
    least += factor > 0 ? low : high;
    greatest += factor > 0 ? high : low;
  }
  return classifyAtom(least, greatest, iv);
}

namespace {
/// One of the numbers whose sum is compared with 0.
struct Summand {
  Value value;
  int64_t sign;
};
} // namespace

/// The sum of `summands` and `constant` >= 0.
static PredicateRange classifySum(ArrayRef<Summand> summands, int64_t constant,
                                  LoopScalars &scalars, unsigned &budget) {
  if (budget == 0)
    return unknownRange();
  --budget;
  // A minimum or maximum is one of its operands.
  for (auto [number, summand] : llvm::enumerate(summands)) {
    Value value = summand.value;
    while (auto broadcast = value.getDefiningOp<BroadcastOp>())
      value = broadcast.getSource();
    Operation *op = value.getDefiningOp();
    bool isAbsolute = isa_and_present<math::AbsIOp>(op),
         isMaximum = isAbsolute || isa_and_present<arith::MaxSIOp>(op);
    if (!isMaximum && !isa_and_present<arith::MinSIOp>(op))
      continue;
    SmallVector<Summand> first(summands), second(summands);
    first[number].value = op->getOperand(0);
    second[number] = isAbsolute ? Summand{op->getOperand(0), -summand.sign}
                                : Summand{op->getOperand(1), summand.sign};
    PredicateRange a = classifySum(first, constant, scalars, budget),
                   b = classifySum(second, constant, scalars, budget);
    return isMaximum == (summand.sign > 0) ? disjunction(a, b)
                                           : conjunction(a, b);
  }
  QuotientForm sum;
  sum.rest.base.constant = constant;
  for (Summand summand : summands) {
    std::optional<QuotientForm> form = getQuotientForm(summand.value);
    if (!form || !sum.add(*form, summand.sign))
      return unknownRange();
  }
  return classifyForm(std::move(sum), scalars);
}

static PredicateRange classifyCompare(arith::CmpIOp compare,
                                      LoopScalars &scalars, bool negated) {
  Value lhs = compare.getLhs(), rhs = compare.getRhs();
  // Other integers wrap around, which forms do not know.
  if (!getElementTypeOrSelf(lhs.getType()).isIndex())
    return unknownRange();
  // greater - lesser - margin >= 0.
  auto atLeast = [&](Value greater, Value lesser, int64_t margin) {
    if (lhs.getType().isIndex()) {
      // The same for all elements.
      AffineForm form =
          getAffineForm(greater) - getAffineForm(lesser) + AffineForm(-margin);
      return classifyAtom(form, form, scalars.getInductionVar());
    }
    unsigned budget = kMostSums;
    return classifySum({{greater, 1}, {lesser, -1}}, -margin, scalars, budget);
  };
  arith::CmpIPredicate predicate = compare.getPredicate();
  if (negated)
    predicate = arith::invertPredicate(predicate);
  switch (predicate) {
  case arith::CmpIPredicate::slt:
    return atLeast(rhs, lhs, 1);
  case arith::CmpIPredicate::sle:
    return atLeast(rhs, lhs, 0);
  case arith::CmpIPredicate::sgt:
    return atLeast(lhs, rhs, 1);
  case arith::CmpIPredicate::sge:
    return atLeast(lhs, rhs, 0);
  case arith::CmpIPredicate::eq:
    return conjunction(atLeast(lhs, rhs, 0), atLeast(rhs, lhs, 0));
  case arith::CmpIPredicate::ne:
    return disjunction(atLeast(lhs, rhs, 1), atLeast(rhs, lhs, 1));
  default: // unsigned: index values may be negative
    return unknownRange();
  }
}

static PredicateRange classify(Value mask, LoopScalars &scalars, bool negated) {
  Operation *op = mask.getDefiningOp();
  if (!op)
    return unknownRange();
  DenseIntElementsAttr constant;
  if (matchPattern(mask, m_Constant(&constant)) && constant.isSplat()) {
    bool holds = constant.getSplatValue<bool>() != negated;
    return holds ? PredicateRange{Interval::all(), Interval::all()}
                 : PredicateRange{Interval::none(), Interval::none()};
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return classifyCompare(compare, scalars, negated);
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return classify(broadcast.getSource(), scalars, negated);
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return classify(splat.getInput(), scalars, negated);
  // The same elements at other places.
  if (auto relabel = dyn_cast<RelabelOp>(op))
    return classify(relabel.getSource(), scalars, negated);
  if (isa<arith::AndIOp, arith::OrIOp>(op)) {
    PredicateRange lhs = classify(op->getOperand(0), scalars, negated);
    PredicateRange rhs = classify(op->getOperand(1), scalars, negated);
    return isa<arith::AndIOp>(op) != negated ? conjunction(lhs, rhs)
                                             : disjunction(lhs, rhs);
  }
  if (auto exclusive = dyn_cast<arith::XOrIOp>(op)) {
    for (auto [value, other] :
         {std::pair(exclusive.getLhs(), exclusive.getRhs()),
          std::pair(exclusive.getRhs(), exclusive.getLhs())})
      if (matchPattern(other, m_Constant(&constant)) && constant.isSplat())
        return classify(value, scalars,
                        negated != constant.getSplatValue<bool>());
    return unknownRange();
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (!isa<RankedTensorType>(select.getCondition().getType()))
      return unknownRange();
    Value condition = select.getCondition();
    return disjunction(
        conjunction(classify(condition, scalars, false),
                    classify(select.getTrueValue(), scalars, negated)),
        conjunction(classify(condition, scalars, true),
                    classify(select.getFalseValue(), scalars, negated)));
  }
  return unknownRange();
}

PredicateRange fa3::tile::classifyPredicate(Value mask, LoopScalars &scalars) {
  return classify(mask, scalars, /*negated=*/false);
}
