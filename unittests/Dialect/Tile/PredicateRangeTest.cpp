//===- PredicateRangeTest.cpp - ranges of masks against enumeration -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Random masks over a small tile, evaluated element by element for every step
// of a loop: outside the possible range nothing may hold, inside the certain
// one everything must.
//===----------------------------------------------------------------------===//

#include "AnalysisTest.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fa3::tile;
using fa3::test::Environment;
using fa3::test::evaluate;

namespace {
constexpr int64_t kRows = 3, kColumns = 4, kSteps = 12;

/// A mask as IR, and as a function of (row, column, step, p, q).
struct Mask {
  Value value;
  std::function<bool(int64_t, int64_t, int64_t, int64_t, int64_t)> holds;
};

struct PredicateRangeTest : fa3::test::AnalysisTest {
  /// A loop over [0, kSteps); code goes into its body.
  void enterLoop() {
    reset();
    least = constant(0);
    greatest = constant(kSteps);
    loop = scf::ForOp::create(*b, least, greatest, constant(1));
    b->setInsertionPointToStart(loop.getBody());
  }

  int64_t below(int64_t n) { return int64_t(random() % n); }

  /// a * row + b * column + c * step + d * p + e * q + f, by index arithmetic
  /// before or after the tile is made. Rows and columns once each.
  Mask compare(arith::CmpIPredicate predicate, ArrayRef<int64_t> k);
  Mask randomCompare();
  Mask randomMask(int depth);

  /// A number for each element, likewise.
  struct Number {
    Value value;
    std::function<int64_t(int64_t, int64_t, int64_t, int64_t, int64_t)> get;
  };
  /// A coordinate plus what steps and arguments make of it.
  Number randomPosition(bool isRow);
  /// Sums, quotients, remainders, minima and absolute values of positions.
  Number randomNumber(int depth);
  Number splat(int64_t number);
  Mask compareNumbers(arith::CmpIPredicate predicate, const Number &x,
                      const Number &y);

  struct Range {
    int64_t lower, upper;
    bool contains(int64_t t) const { return lower <= t && t < upper; }
  };
  Range read(const Interval &interval, const Environment &environment) {
    OpBuilder::InsertionGuard guard(*b);
    b->setInsertionPoint(loop);
    for (const AffineForm &form : interval.conditions)
      if (evaluate(materialize(*b, b->getLoc(), form), environment) < 0)
        return {0, 0};
    return {
        evaluate(interval.lower.materialize(*b, b->getLoc(), least, greatest),
                 environment),
        evaluate(interval.upper.materialize(*b, b->getLoc(), least, greatest),
                 environment)};
  }

  /// Checks the claims about a mask, for all steps and some p and q. With
  /// `exact`, the ranges must be the smallest and the greatest.
  void check(const Mask &mask, bool exact);

  std::mt19937 random{11};
  scf::ForOp loop;
  Value least, greatest;
};
} // namespace

Mask PredicateRangeTest::compare(arith::CmpIPredicate predicate,
                                 ArrayRef<int64_t> k) {
  auto type = RankedTensorType::get({kRows, kColumns}, b->getIndexType());
  SmallVector<int64_t> c(k);
  Value step = loop.getInductionVar();
  Value scalar = constant(c[5]);
  for (auto [coefficient, value] :
       {std::pair(c[2], step), std::pair(c[3], argument(0)),
        std::pair(c[4], argument(1))})
    scalar = make<arith::AddIOp>(
        scalar, make<arith::MulIOp>(value, constant(coefficient)));
  auto splat = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        *b, DenseElementsAttr::get(type, b->getIndexAttr(value).getValue()));
  };
  Value row = CoordOp::create(*b, type, 0, constant(0));
  Value column = CoordOp::create(*b, type, 1, scalar);
  // The scalar part is the offset of the columns, whose factor is 1 or -1.
  Value lhs = make<arith::MulIOp>(row, splat(c[0]));
  Value rhs = make<arith::MulIOp>(column, splat(c[1]));
  Value mask = arith::CmpIOp::create(*b, predicate, lhs, rhs);
  return {mask, [=](int64_t i, int64_t j, int64_t t, int64_t p, int64_t q) {
            int64_t x = c[0] * i;
            int64_t y = c[1] * (j + c[2] * t + c[3] * p + c[4] * q + c[5]);
            switch (predicate) {
            case arith::CmpIPredicate::slt:
              return x < y;
            case arith::CmpIPredicate::sle:
              return x <= y;
            case arith::CmpIPredicate::sgt:
              return x > y;
            case arith::CmpIPredicate::sge:
              return x >= y;
            case arith::CmpIPredicate::eq:
              return x == y;
            default:
              return x != y;
            }
          }};
}

Mask PredicateRangeTest::randomCompare() {
  constexpr arith::CmpIPredicate predicates[] = {
      arith::CmpIPredicate::slt, arith::CmpIPredicate::sle,
      arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge,
      arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne};
  return compare(predicates[below(6)],
                 {below(4) - 1, below(5) - 2, below(7) - 3, below(3) - 1,
                  below(3) - 1, below(11) - 5});
}

Mask PredicateRangeTest::randomMask(int depth) {
  auto type = RankedTensorType::get({kRows, kColumns}, b->getI1Type());
  if (depth == 0)
    return randomCompare();
  Mask x = randomMask(depth - 1), y = randomMask(depth - 1);
  auto f = x.holds, g = y.holds;
  switch (below(5)) {
  case 0:
    return {make<arith::AndIOp>(x.value, y.value),
            [=](auto... at) { return f(at...) && g(at...); }};
  case 1:
    return {make<arith::OrIOp>(x.value, y.value),
            [=](auto... at) { return f(at...) || g(at...); }};
  case 2: {
    Value all =
        arith::ConstantOp::create(*b, DenseElementsAttr::get(type, true));
    return {make<arith::XOrIOp>(all, x.value),
            [=](auto... at) { return !f(at...); }};
  }
  case 3: {
    Mask z = randomMask(depth - 1);
    auto h = z.holds;
    Value chosen =
        arith::SelectOp::create(*b, x.value, y.value, z.value).getResult();
    return {chosen, [=](auto... at) { return f(at...) ? g(at...) : h(at...); }};
  }
  default:
    return x;
  }
}

PredicateRangeTest::Number PredicateRangeTest::randomPosition(bool isRow) {
  auto type = RankedTensorType::get({kRows, kColumns}, b->getIndexType());
  int64_t slope = below(7) - 3, ofP = below(3) - 1, shift = below(11) - 5;
  if (below(2))
    (isRow ? slope : ofP) = 0;
  Value offset = make<arith::AddIOp>(
      make<arith::MulIOp>(loop.getInductionVar(), constant(slope)),
      make<arith::AddIOp>(make<arith::MulIOp>(argument(0), constant(ofP)),
                          constant(shift)));
  return {CoordOp::create(*b, type, isRow ? 0 : 1, offset),
          [=](int64_t i, int64_t j, int64_t t, int64_t p, int64_t) {
            return (isRow ? i : j) + slope * t + ofP * p + shift;
          }};
}

PredicateRangeTest::Number PredicateRangeTest::splat(int64_t number) {
  auto type = RankedTensorType::get({kRows, kColumns}, b->getIndexType());
  return {
      arith::ConstantOp::create(
          *b, DenseElementsAttr::get(type, b->getIndexAttr(number).getValue())),
      [=](auto...) { return number; }};
}

PredicateRangeTest::Number PredicateRangeTest::randomNumber(int depth) {
  if (depth == 0)
    return randomPosition(below(2));
  Number x = randomNumber(depth - 1);
  auto f = x.get;
  int64_t kind = below(7);
  if (kind < 3) {
    int64_t divisor = 1 + below(6);
    Value by = splat(divisor).value;
    Value quotient = make<arith::FloorDivSIOp>(x.value, by);
    auto get = [=](auto... at) {
      return llvm::divideFloorSigned(f(at...), divisor);
    };
    if (kind < 2)
      return {quotient, get};
    return {make<arith::SubIOp>(x.value, make<arith::MulIOp>(quotient, by)),
            [=](auto... at) { return f(at...) - get(at...) * divisor; }};
  }
  if (kind == 3)
    return {math::AbsIOp::create(*b, x.value),
            [=](auto... at) { return std::abs(f(at...)); }};
  Number y = below(2) ? randomNumber(depth - 1) : splat(below(9) - 4);
  auto g = y.get;
  if (kind == 4)
    return {make<arith::SubIOp>(x.value, y.value),
            [=](auto... at) { return f(at...) - g(at...); }};
  if (kind == 5)
    return {make<arith::MinSIOp>(x.value, y.value),
            [=](auto... at) { return std::min(f(at...), g(at...)); }};
  return {make<arith::MaxSIOp>(x.value, y.value),
          [=](auto... at) { return std::max(f(at...), g(at...)); }};
}

Mask PredicateRangeTest::compareNumbers(arith::CmpIPredicate predicate,
                                        const Number &x, const Number &y) {
  auto f = x.get, g = y.get;
  return {arith::CmpIOp::create(*b, predicate, x.value, y.value),
          [=](auto... at) {
            int64_t l = f(at...), r = g(at...);
            switch (predicate) {
            case arith::CmpIPredicate::sle:
              return l <= r;
            case arith::CmpIPredicate::sgt:
              return l > r;
            case arith::CmpIPredicate::eq:
              return l == r;
            default:
              return l != r;
            }
          }};
}

void PredicateRangeTest::check(const Mask &mask, bool exact) {
  LoopScalars scalars(loop.getInductionVar());
  PredicateRange range = classifyPredicate(mask.value, scalars);
  for (int64_t p : {-7, 0, 3, 19})
    for (int64_t q : {-2, 5}) {
      Environment environment = {{argument(0), p}, {argument(1), q}};
      Range possible = read(range.possible, environment);
      Range always = read(range.always, environment);
      for (int64_t t = 0; t < kSteps; ++t) {
        bool any = false, all = true;
        for (int64_t i = 0; i < kRows; ++i)
          for (int64_t j = 0; j < kColumns; ++j) {
            bool holds = mask.holds(i, j, t, p, q);
            any |= holds;
            all &= holds;
          }
        ASSERT_TRUE(!any || possible.contains(t))
            << "possible at " << t << " for " << p << ", " << q;
        ASSERT_TRUE(all || !always.contains(t))
            << "not certain at " << t << " for " << p << ", " << q;
        if (exact) {
          ASSERT_EQ(any, possible.contains(t)) << t << ", " << p << ", " << q;
          ASSERT_EQ(all, always.contains(t)) << t << ", " << p << ", " << q;
        }
      }
    }
}

TEST_F(PredicateRangeTest, InequalitiesAreExact) {
  constexpr arith::CmpIPredicate predicates[] = {
      arith::CmpIPredicate::slt, arith::CmpIPredicate::sle,
      arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge};
  for (int round = 0; round < 150; ++round) {
    enterLoop();
    // The step occurs: otherwise the answer is the same for all of them.
    int64_t slope = below(2) ? 1 + below(3) : -1 - below(3);
    Mask mask = compare(predicates[below(4)],
                        {below(4) - 1, below(2) ? 1 : -1, slope, below(3) - 1,
                         below(3) - 1, below(11) - 5});
    check(mask, /*exact=*/true);
    if (HasFatalFailure())
      FAIL() << "round " << round;
  }
}

TEST_F(PredicateRangeTest, RandomMasks) {
  for (int round = 0; round < 400; ++round) {
    enterLoop();
    Mask mask = randomMask(below(4));
    check(mask, /*exact=*/false);
    if (HasFatalFailure())
      FAIL() << "round " << round;
  }
}

TEST_F(PredicateRangeTest, RandomNumbers) {
  constexpr arith::CmpIPredicate predicates[] = {
      arith::CmpIPredicate::sle, arith::CmpIPredicate::sgt,
      arith::CmpIPredicate::eq, arith::CmpIPredicate::ne};
  for (int round = 0; round < 1500; ++round) {
    enterLoop();
    Number x = randomNumber(below(4)), y = randomNumber(below(3));
    check(compareNumbers(predicates[below(4)], x, y), /*exact=*/false);
    if (HasFatalFailure())
      FAIL() << "round " << round;
  }
}

TEST_F(PredicateRangeTest, QuotientsAreExact) {
  // (i + p) div a compared with (j + slope * t) div a plus something, as masks
  // by chunk and by pixel have it: rows and columns move apart.
  auto type = RankedTensorType::get({kRows, kColumns}, b->getIndexType());
  for (int round = 0; round < 200; ++round) {
    enterLoop();
    int64_t divisor = 1 + below(7), shift = below(5) - 2;
    int64_t slope = below(2) ? 1 + below(3) : -1 - below(3);
    Value row = CoordOp::create(*b, type, 0, argument(0));
    Value moved = make<arith::MulIOp>(loop.getInductionVar(), constant(slope));
    Value column = CoordOp::create(*b, type, 1, moved);
    Value by = splat(divisor).value;
    Number x{make<arith::FloorDivSIOp>(row, by),
             [=](int64_t i, int64_t, int64_t, int64_t p, int64_t) {
               return llvm::divideFloorSigned(i + p, divisor);
             }};
    Value ofColumn = make<arith::FloorDivSIOp>(column, by);
    Number y{make<arith::AddIOp>(ofColumn, splat(shift).value),
             [=](int64_t, int64_t j, int64_t t, int64_t, int64_t) {
               return llvm::divideFloorSigned(j + slope * t, divisor) + shift;
             }};
    arith::CmpIPredicate predicate =
        below(2) ? arith::CmpIPredicate::sle : arith::CmpIPredicate::sgt;
    check(compareNumbers(predicate, x, y), /*exact=*/true);
    if (HasFatalFailure())
      FAIL() << "round " << round;
  }
}

TEST_F(PredicateRangeTest, ProductsThatDoNotFitAreNotMade) {
  // j div 2^20 <= i is j < (i + 1) * 2^20, which an index may not hold.
  enterLoop();
  auto type = RankedTensorType::get({kRows, kColumns}, b->getIndexType());
  Value row = CoordOp::create(*b, type, 0, argument(0));
  Value column = CoordOp::create(*b, type, 1, loop.getInductionVar());
  Value quotient =
      make<arith::FloorDivSIOp>(column, splat(int64_t(1) << 20).value);
  Value mask =
      arith::CmpIOp::create(*b, arith::CmpIPredicate::sle, quotient, row);
  LoopScalars scalars(loop.getInductionVar());
  PredicateRange range = classifyPredicate(mask, scalars);
  EXPECT_TRUE(range.possible.isAll());
  EXPECT_TRUE(range.always.isNone());
}

TEST_F(PredicateRangeTest, Constants) {
  enterLoop();
  auto type = RankedTensorType::get({kRows, kColumns}, b->getI1Type());
  for (bool holds : {false, true}) {
    Value mask =
        arith::ConstantOp::create(*b, DenseElementsAttr::get(type, holds));
    LoopScalars scalars(loop.getInductionVar());
    PredicateRange range = classifyPredicate(mask, scalars);
    EXPECT_EQ(range.possible.isAll(), holds);
    EXPECT_EQ(range.possible.isNone(), !holds);
    EXPECT_EQ(range.always.isAll(), holds);
    EXPECT_EQ(range.always.isNone(), !holds);
  }
}

TEST_F(PredicateRangeTest, UnknownMasks) {
  enterLoop();
  // Unsigned comparisons, and bounds that the iteration computes.
  auto type = RankedTensorType::get({kRows, kColumns}, b->getIndexType());
  Value step = loop.getInductionVar();
  Value row = CoordOp::create(*b, type, 0, step);
  Value square = make<arith::MulIOp>(step, step);
  Value column = CoordOp::create(*b, type, 1, square);
  for (auto predicate :
       {arith::CmpIPredicate::ult, arith::CmpIPredicate::sle}) {
    Value mask = arith::CmpIOp::create(*b, predicate, row, column);
    LoopScalars scalars(step);
    PredicateRange range = classifyPredicate(mask, scalars);
    EXPECT_TRUE(range.possible.isAll());
    EXPECT_TRUE(range.always.isNone());
  }
}

TEST_F(PredicateRangeTest, InvariantsAreConditions) {
  // Possible in all steps or in none; the greatest row decides.
  enterLoop();
  auto type = RankedTensorType::get({kRows, kColumns}, b->getIndexType());
  Value row = CoordOp::create(*b, type, 0, argument(0));
  Value end = CoordOp::create(*b, type, 1, argument(1));
  Value ended = arith::CmpIOp::create(*b, arith::CmpIPredicate::slt, row, end);
  Mask first{ended, [](int64_t i, int64_t j, int64_t, int64_t p, int64_t q) {
               return p + i < q + j;
             }};
  {
    LoopScalars scalars(loop.getInductionVar());
    PredicateRange range = classifyPredicate(first.value, scalars);
    EXPECT_EQ(range.possible.conditions.size(), 1u);
    EXPECT_FALSE(range.possible.isAll());
  }
  check(first, /*exact=*/false);
  // Both must hold of a conjunction, neither of a disjunction.
  for (int round = 0; round < 20; ++round) {
    enterLoop();
    row = CoordOp::create(*b, type, 0, argument(0));
    end = CoordOp::create(*b, type, 1, argument(1));
    ended = arith::CmpIOp::create(*b, arith::CmpIPredicate::slt, row, end);
    Mask other = randomCompare();
    auto f = first.holds, g = other.holds;
    check({make<arith::AndIOp>(ended, other.value),
           [=](auto... at) { return f(at...) && g(at...); }},
          /*exact=*/false);
    check({make<arith::OrIOp>(ended, other.value),
           [=](auto... at) { return f(at...) || g(at...); }},
          /*exact=*/false);
    if (HasFatalFailure())
      FAIL() << "round " << round;
  }
}

TEST_F(PredicateRangeTest, BoundsFoldInfinities) {
  Bound low = Bound::negativeInfinity(), high = Bound::positiveInfinity();
  Bound five = Bound::ceilDiv(AffineForm(5), 1);
  EXPECT_TRUE(Bound::min(low, five).isNegativeInfinity());
  EXPECT_TRUE(Bound::max(five, high).isPositiveInfinity());
  EXPECT_TRUE(Bound::min(high, low).isNegativeInfinity());
  EXPECT_TRUE(Bound::max(high, low).isPositiveInfinity());
  EXPECT_TRUE(Bound::min(five, high).provesAtMost(AffineForm(5)));
  EXPECT_TRUE(Bound::max(low, five).provesAtLeast(AffineForm(5)));
}

TEST_F(PredicateRangeTest, BoundsProveQuotients) {
  for (int64_t n = -9; n < 10; ++n)
    for (int64_t d = 1; d < 5; ++d)
      for (int64_t v = -12; v < 12; ++v) {
        int64_t up = llvm::divideCeilSigned(n, d);
        int64_t past = llvm::divideFloorSigned(n, d) + 1;
        Bound ceil = Bound::ceilDiv(AffineForm(n), d);
        Bound floor = Bound::floorDivPlusOne(AffineForm(n), d);
        EXPECT_EQ(ceil.provesAtMost(AffineForm(v)), up <= v);
        EXPECT_EQ(ceil.provesAtLeast(AffineForm(v)), up >= v);
        EXPECT_EQ(floor.provesAtMost(AffineForm(v)), past <= v);
        EXPECT_EQ(floor.provesAtLeast(AffineForm(v)), past >= v);
      }
}
