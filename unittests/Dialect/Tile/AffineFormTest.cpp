//===- AffineFormTest.cpp - forms and what is proved about them -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "AnalysisTest.h"

using namespace mlir;
using namespace fa3::tile;
using fa3::test::Environment;
using fa3::test::evaluate;

namespace {
struct AffineFormTest : fa3::test::AnalysisTest {
  bool proves(Value lhs, Value rhs) { // lhs >= rhs
    return provesNonNegative(getAffineForm(lhs) - getAffineForm(rhs));
  }
};

using AffineFormProofs = AffineFormTest;
} // namespace

TEST_F(AffineFormTest, Arithmetic) {
  AffineForm x, y;
  x.add(argument(0), 3);
  x.constant = 2;
  y.add(argument(0), -3);
  y.add(argument(1), 1);
  AffineForm sum = x + y;
  EXPECT_EQ(sum.constant, 2);
  EXPECT_EQ(sum.getCoefficient(argument(0)), 0);
  EXPECT_EQ(sum.getCoefficient(argument(1)), 1);
  EXPECT_EQ(sum.terms.size(), 1u);
  EXPECT_TRUE((x - x).isConstant());
  EXPECT_EQ((x * -2).constant, -4);
  EXPECT_EQ((x * -2).getCoefficient(argument(0)), -6);
  EXPECT_TRUE(x.without(argument(0)).isConstant());
  EXPECT_TRUE((x * 0).isConstant());
}

TEST_F(AffineFormTest, ReadsSumsAndMultiples) {
  // 4 * (p - 3) + q * 2 - p
  Value value = make<arith::SubIOp>(
      make<arith::AddIOp>(
          make<arith::MulIOp>(constant(4),
                              make<arith::SubIOp>(argument(0), constant(3))),
          make<arith::MulIOp>(argument(1), constant(2))),
      argument(0));
  AffineForm form = getAffineForm(value);
  EXPECT_EQ(form.constant, -12);
  EXPECT_EQ(form.getCoefficient(argument(0)), 3);
  EXPECT_EQ(form.getCoefficient(argument(1)), 2);
}

TEST_F(AffineFormTest, WhatIsNotAffineIsAnAtom) {
  Value square = make<arith::MulIOp>(argument(0), argument(0));
  AffineForm form = getAffineForm(make<arith::AddIOp>(square, constant(1)));
  EXPECT_EQ(form.constant, 1);
  EXPECT_EQ(form.getCoefficient(square), 1);
}

TEST_F(AffineFormTest, QuotientsAndRemaindersOfCoordinates) {
  auto type = RankedTensorType::get({64}, b->getIndexType());
  auto splat = [&](Value value) -> Value {
    return tensor::SplatOp::create(*b, value, type);
  };
  auto coordinate = [&](Value offset) -> Value {
    return CoordOp::create(*b, type, 0, offset);
  };
  // (64 * 3 + x) div 4 = 48 + (x div 4)
  Value row = coordinate(constant(192));
  std::optional<TileForm> form =
      getTileForm(make<arith::DivUIOp>(row, splat(constant(4))));
  ASSERT_TRUE(form);
  EXPECT_EQ(form->getLeast().constant, 48);
  EXPECT_EQ(form->getGreatest().constant, 63);
  EXPECT_FALSE(form->isAffine());
  // (64 * 3 + x) mod 4
  form = getTileForm(make<arith::RemUIOp>(row, splat(constant(4))));
  ASSERT_TRUE(form);
  EXPECT_EQ(form->getLeast().constant, 0);
  EXPECT_EQ(form->getGreatest().constant, 3);
  // By more than there are.
  form = getTileForm(make<arith::RemUIOp>(row, splat(constant(192))));
  ASSERT_TRUE(form);
  EXPECT_EQ(form->getGreatest().constant, 63);

  // An offset that is no multiple, one that may be negative, a sum of
  // coordinates' multiples and a divisor that is not known.
  EXPECT_FALSE(getTileForm(
      make<arith::DivUIOp>(coordinate(constant(2)), splat(constant(4)))));
  EXPECT_FALSE(getTileForm(make<arith::DivUIOp>(
      coordinate(make<arith::MulIOp>(argument(0), constant(4))),
      splat(constant(4)))));
  EXPECT_FALSE(getTileForm(make<arith::DivUIOp>(
      make<arith::MulIOp>(row, splat(constant(3))), splat(constant(4)))));
  EXPECT_FALSE(getTileForm(make<arith::DivUIOp>(row, splat(argument(0)))));
  EXPECT_FALSE(getTileForm(make<arith::RemUIOp>(row, splat(constant(0)))));
}

TEST_F(AffineFormTest, MaterializedFormsHaveTheirValue) {
  std::mt19937 random(7);
  auto below = [&](int64_t n) { return int64_t(random() % n); };
  for (int round = 0; round < 200; ++round) {
    reset();
    AffineForm form(below(9) - 4);
    Environment environment;
    int64_t expected = form.constant;
    for (unsigned i = 0; i < 3; ++i) {
      int64_t coefficient = below(7) - 3, value = below(41) - 20;
      form.add(argument(i), coefficient);
      environment[argument(i)] = value;
      expected += coefficient * value;
    }
    Value value = materialize(*b, b->getLoc(), form);
    EXPECT_EQ(evaluate(value, environment), expected);
  }
}

TEST_F(AffineFormTest, TilesOfCoordinates) {
  auto type = RankedTensorType::get({64, 32}, b->getIndexType());
  Value i = CoordOp::create(*b, type, 0, argument(0));
  Value j = CoordOp::create(*b, type, 1, argument(1));
  Value p = tensor::SplatOp::create(*b, argument(2), type);
  // 2 * i - j + p
  Value value =
      make<arith::AddIOp>(make<arith::SubIOp>(make<arith::AddIOp>(i, i), j), p);
  std::optional<TileForm> form = getTileForm(value);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->base.getCoefficient(argument(0)), 2);
  EXPECT_EQ(form->base.getCoefficient(argument(1)), -1);
  EXPECT_EQ(form->base.getCoefficient(argument(2)), 1);
  EXPECT_EQ(form->getLeast().constant, -31);
  EXPECT_EQ(form->getGreatest().constant, 2 * 63);
  EXPECT_FALSE(getTileForm(make<arith::MulIOp>(i, j)));
}

TEST_F(AffineFormProofs, Constants) {
  EXPECT_TRUE(provesNonNegative(AffineForm(0)));
  EXPECT_FALSE(provesNonNegative(AffineForm(-1)));
}

TEST_F(AffineFormProofs, ExtentsAreNotNegative) {
  Value n = dim(0);
  EXPECT_TRUE(proves(n, constant(0)));
  EXPECT_FALSE(proves(n, constant(1)));
  EXPECT_FALSE(proves(argument(0), constant(0)));
}

TEST_F(AffineFormProofs, Quotients) {
  Value n = dim(0), d = constant(80);
  Value up = make<arith::CeilDivSIOp>(n, d);
  Value down = make<arith::FloorDivSIOp>(n, d);
  Value covered = make<arith::MulIOp>(up, d),
        full = make<arith::MulIOp>(down, d);
  EXPECT_TRUE(proves(covered, n));
  EXPECT_TRUE(proves(n, full));
  EXPECT_TRUE(proves(make<arith::AddIOp>(n, constant(79)), covered));
  EXPECT_FALSE(proves(make<arith::AddIOp>(n, constant(78)), covered));
  EXPECT_TRUE(proves(up, down));
  EXPECT_TRUE(proves(make<arith::AddIOp>(down, constant(1)), up));
  EXPECT_FALSE(proves(down, up));
  // A divisor that is not constant tells nothing.
  Value unknown = make<arith::CeilDivSIOp>(n, argument(0));
  EXPECT_FALSE(proves(unknown, constant(0)));
}

TEST_F(AffineFormProofs, MinimaAndMaxima) {
  Value least = make<arith::MinSIOp>(argument(0), argument(1));
  Value most = make<arith::MaxSIOp>(argument(0), argument(1));
  EXPECT_TRUE(proves(argument(0), least));
  EXPECT_TRUE(proves(most, argument(1)));
  EXPECT_TRUE(proves(most, least));
  EXPECT_FALSE(proves(least, argument(0)));
}

TEST_F(AffineFormProofs, LoopsAndTheirBounds) {
  // The last row of every block but the last is inside the array.
  Value n = dim(0);
  Value blocks = make<arith::FloorDivSIOp>(n, constant(64));
  auto loop = scf::ForOp::create(*b, constant(0), blocks, constant(1));
  b->setInsertionPointToStart(loop.getBody());
  Value first = make<arith::MulIOp>(loop.getInductionVar(), constant(64));
  EXPECT_TRUE(proves(first, constant(0)));
  EXPECT_TRUE(proves(n, make<arith::AddIOp>(first, constant(64))));
  EXPECT_FALSE(proves(n, make<arith::AddIOp>(first, constant(65))));
}

/// What is proved holds for all values; sums over random definitions.
TEST_F(AffineFormProofs, NothingFalse) {
  std::mt19937 random(3);
  auto below = [&](int64_t n) { return int64_t(random() % n); };
  unsigned proofs = 0;
  for (int round = 0; round < 400; ++round) {
    reset();
    Value rows = dim(0), columns = dim(1);
    SmallVector<Value> values = {rows, columns, argument(0)};
    for (int i = 0; i < 4; ++i) {
      Value lhs = values[below(values.size())];
      Value rhs = values[below(values.size())];
      switch (below(5)) {
      case 0:
        values.push_back(make<arith::CeilDivSIOp>(lhs, constant(1 + below(5))));
        break;
      case 1:
        values.push_back(
            make<arith::FloorDivSIOp>(lhs, constant(1 + below(5))));
        break;
      case 2:
        values.push_back(make<arith::MinSIOp>(lhs, rhs));
        break;
      case 3:
        values.push_back(make<arith::MaxSIOp>(lhs, rhs));
        break;
      default:
        values.push_back(make<arith::AddIOp>(
            lhs, make<arith::MulIOp>(rhs, constant(below(5) - 2))));
      }
    }
    Value claim = make<arith::SubIOp>(
        make<arith::AddIOp>(values[below(values.size())], constant(below(4))),
        values[below(values.size())]);
    if (!provesNonNegative(getAffineForm(claim)))
      continue;
    ++proofs;
    for (int64_t m = 0; m < 8; ++m)
      for (int64_t n = 0; n < 8; ++n)
        for (int64_t p = -8; p < 8; ++p) {
          Environment environment = {{rows, m}, {columns, n}, {argument(0), p}};
          ASSERT_GE(evaluate(claim, environment), 0)
              << "round " << round << " with " << m << ", " << n << ", " << p;
        }
  }
  EXPECT_GT(proofs, 40u) << "the test proves next to nothing";
}
