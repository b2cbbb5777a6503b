//===- CompareTest.cpp - differences of arrays ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tools/Run/CompareArrays.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace fa3;
using namespace fa3::interp;
using run::Comparison;

static Array make(std::initializer_list<double> values) {
  Array array = Array::allocate(Format::F32, {int64_t(values.size())});
  auto *next = values.begin();
  array.forEach([&](llvm::ArrayRef<int64_t>, uint8_t *element) {
    storeAsDouble(Format::F32, *next++, element);
  });
  return array;
}

TEST(Compare, ToleranceIsAbsolutePlusRelative) {
  Array a = make({1.5, 100, 0}), b = make({1, 99, 0});
  EXPECT_EQ(run::compare(a, b, {0.5, 0.01}).mismatches, 0);
  Comparison c = run::compare(a, b, {0.5, 0});
  EXPECT_EQ(c.mismatches, 1);
  EXPECT_EQ(c.index, llvm::SmallVector<int64_t>({1}));
  EXPECT_EQ(c.value, 100);
  EXPECT_EQ(c.reference, 99);
  EXPECT_EQ(c.maxAbsolute, 1);
  EXPECT_EQ(c.maxRelative, 0.5);
}

TEST(Compare, SpecialValuesAgreeWithThemselvesOnly) {
  EXPECT_EQ(run::compare(make({NAN, INFINITY, -INFINITY}),
                         make({NAN, INFINITY, -INFINITY}), {0, 0})
                .mismatches,
            0);
  EXPECT_EQ(run::compare(make({NAN, INFINITY, -INFINITY, 1}),
                         make({0, -INFINITY, 3, NAN}), {1e30, 1})
                .mismatches,
            4);
}

TEST(Compare, UnwrittenElementsAreNotEqualToNaN) {
  Array written = make({NAN, 1}), poison = Array::allocate(Format::F32, {2});
  Comparison c = run::compare(poison, written, {1e30, 0});
  EXPECT_EQ(c.mismatches, 2);
  EXPECT_FALSE(c.isWritten);
  EXPECT_TRUE(c.isReferenceWritten);
  c = run::compare(poison, poison.clone(), {0, 0});
  EXPECT_EQ(c.mismatches, 0);
  EXPECT_EQ(c.unwritten, 2);
}
