//===- HostTensorTest.cpp - arrays in host memory -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Reference/HostTensor.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace fa3;

namespace {
struct HostTensorTest : testing::Test {
  MLIRContext context;
  FloatType f16 = Float16Type::get(&context);
  FloatType bf16 = BFloat16Type::get(&context);
  FloatType f32 = Float32Type::get(&context);
};
} // namespace

TEST_F(HostTensorTest, RoundsToNearestEven) {
  // bf16 has 8 significant bits, f16 has 11.
  EXPECT_EQ(roundTo(bf16, 1 + 0x1p-8f), 1.0f);
  EXPECT_EQ(roundTo(bf16, 1 + 0x3p-8f), 1 + 0x1p-6f);
  EXPECT_EQ(roundTo(bf16, std::nextafter(1 + 0x1p-8f, 2.0f)), 1 + 0x1p-7f);
  EXPECT_EQ(roundTo(f16, 1 + 0x1p-11f), 1.0f);
  EXPECT_EQ(roundTo(f16, 1 + 0x3p-11f), 1 + 0x1p-9f);
  EXPECT_EQ(roundTo(f16, -2049.0f), -2048.0f);
  EXPECT_EQ(roundTo(f16, 0x1p-24f), 0x1p-24f);
  EXPECT_EQ(roundTo(f32, 0.1f), 0.1f);
}

TEST_F(HostTensorTest, KeepsSpecialValues) {
  float inf = std::numeric_limits<float>::infinity();
  for (FloatType type : {f16, bf16, f32}) {
    EXPECT_EQ(roundTo(type, -inf), -inf);
    EXPECT_TRUE(std::isnan(roundTo(type, std::nanf(""))));
    EXPECT_TRUE(std::signbit(roundTo(type, -0.0f)));
  }
  EXPECT_EQ(roundTo(f16, 65520.0f), inf);
  EXPECT_EQ(roundTo(bf16, std::numeric_limits<float>::max()), inf);
}

TEST_F(HostTensorTest, StridesSayWhereElementsAre) {
  // Columns first, with a gap; the second tensor repeats its rows.
  HostTensor tensor(f16, {2, 3}, {1, 4});
  EXPECT_EQ(tensor.getNumBytes(), 2u * (1 * 1 + 2 * 4 + 1));
  tensor.setValues({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(tensor.get({1, 0}), 4);
  EXPECT_EQ(tensor.get({0, 2}), 3);
  EXPECT_EQ(tensor.getValues(), (std::vector<float>{1, 2, 3, 4, 5, 6}));

  HostTensor repeated(f32, {4, 2}, {0, 1});
  repeated.set({3, 1}, 7);
  EXPECT_EQ(repeated.get({0, 1}), 7);
  EXPECT_EQ(repeated.getNumBytes(), 8u);
  EXPECT_EQ(HostTensor(f32, {4, 0}).getNumBytes(), 0u);
}

TEST_F(HostTensorTest, NormalNumbersAreNormalAndRepeatable) {
  HostTensor a(f32, {10000}), b(f32, {10000}), c(f32, {10000});
  a.fillNormal(1, 2);
  b.fillNormal(1, 2);
  c.fillNormal(2, 2);
  EXPECT_EQ(a.getValues(), b.getValues());
  EXPECT_NE(a.getValues(), c.getValues());
  double sum = 0, squares = 0;
  for (float value : a.getValues()) {
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 10000, 0, 0.1);
  EXPECT_NEAR(squares / 10000, 4, 0.2);
}
