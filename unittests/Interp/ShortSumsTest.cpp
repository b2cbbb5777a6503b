//===- ShortSumsTest.cpp - sums of 14 bits --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Hopper/ShortSums.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>
#include <vector>

using fa3::interp::addShortSums;

/// `sum` plus the products of one row and one column of 32 elements.
static float add(float sum, const std::vector<float> &lhs,
                 const std::vector<float> &rhs) {
  addShortSums(1, 1, static_cast<int64_t>(lhs.size()), lhs.data(), rhs.data(),
               &sum);
  return sum;
}

TEST(ShortSums, SmallNumbersAreExact) {
  std::vector<float> lhs, rhs;
  float expected = 5;
  for (int i = 0; i < 32; ++i) {
    lhs.push_back(float(i - 16));
    rhs.push_back(0.5f * float(i % 5));
    expected += lhs.back() * rhs.back();
  }
  EXPECT_EQ(add(5, lhs, rhs), expected);
}

TEST(ShortSums, BitsBelowTheThirteenthAreCut) {
  // 2^13 has the unit 1: 1 counts, 0.75 does not, nor does it together.
  EXPECT_EQ(add(8192, {1}, {1}), 8193);
  EXPECT_EQ(add(8192, {0.75f, 0.75f, 0.75f, 0.75f}, {1, 1, 1, 1}), 8192);
  EXPECT_EQ(add(8192, {1.75f}, {1}), 8193);
}

TEST(ShortSums, CutsTowardsZero) {
  EXPECT_EQ(add(8192, {-1.75f}, {1}), 8191);
  EXPECT_EQ(add(-8192, {0.75f}, {1}), -8192);
}

TEST(ShortSums, TheSumIsCutByLargeProducts) {
  EXPECT_EQ(add(1.5f, {128}, {64}), 8193);
}

TEST(ShortSums, EveryDepthOfAnInstructionIsCutByItself) {
  // 32 times 0.75 is 24, which the next instruction adds to 8192 in whole.
  std::vector<float> lhs(64, 0.75f), rhs(64, 1);
  lhs[32] = 8192;
  EXPECT_EQ(add(0, lhs, rhs), 8192 + 24);
  std::swap(lhs[0], lhs[32]);
  EXPECT_EQ(add(0, lhs, rhs), 8192);
}

TEST(ShortSums, NotNumbersPropagate) {
  EXPECT_TRUE(std::isnan(add(1, {std::nanf("")}, {1})));
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(add(1, {infinity}, {1}), infinity);
}

TEST(ShortSums, RowsAndColumns) {
  std::vector<float> lhs = {1, 2, 3, 4}, rhs = {5, 6, 7, 8},
                     sums = {1, 1, 1, 1};
  addShortSums(2, 2, 2, lhs.data(), rhs.data(), sums.data());
  EXPECT_EQ(sums, (std::vector<float>{20, 23, 44, 51}));
}
