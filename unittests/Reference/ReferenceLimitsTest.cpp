//===- ReferenceLimitsTest.cpp - rounding and what is refused -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ReferenceFixture.h"
#include "mlir/Parser/Parser.h"
#include <cmath>

using namespace mlir;
using namespace fa3;

//===----------------------------------------------------------------------===//
// Low precision
//===----------------------------------------------------------------------===//

TEST_P(ReferenceTest, LowPrecisionRoundsEveryStep) {
  Problem p;
  p.batch = p.heads = p.keyHeads = 1;
  p.queries = p.keys = 64;
  p.headDim = p.valueHeadDim = 32;
  HostTensor q(element, {1, 1, 64, 32}), k = q, v = q, low = q, high = q;
  HostTensor lse(f32, {1, 1, 64});
  q.fillNormal(1);
  k.fillNormal(2);
  v.fillNormal(3);
  runInBothPrecisions(p, {q, k, v, high, lse}, {q, k, v, low, lse});

  // The same steps by hand. Sums may be made in another order and then round
  // differently here and there, so the mean distance is what tells.
  std::vector<float> byHand;
  float scale = static_cast<float>(1 / std::sqrt(32.0));
  for (int64_t i = 0; i < 64; ++i) {
    std::vector<float> s(64);
    float max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < 64; ++j) {
      float dot = 0;
      for (int64_t c = 0; c < 32; ++c)
        dot +=
            q.get({0, 0, i, c}) * roundTo(element, k.get({0, 0, j, c}) * scale);
      s[j] = roundTo(element, dot);
      max = std::max(max, s[j]);
    }
    for (int64_t j = 0; j < 64; ++j)
      sum += s[j] = std::exp(s[j] - max);
    for (int64_t c = 0; c < 32; ++c) {
      float value = 0;
      for (int64_t j = 0; j < 64; ++j)
        value += roundTo(element, s[j] / sum) * v.get({0, 0, j, c});
      byHand.push_back(roundTo(element, value));
    }
  }
  auto getMeanError = [](const std::vector<float> &a,
                         const std::vector<float> &b) {
    double sum = 0;
    for (auto [x, y] : llvm::zip(a, b))
      sum += std::abs(static_cast<double>(x) - y);
    return sum / a.size();
  };
  std::vector<float> lowValues = low.getValues(), highValues = high.getValues();
  double rounding = getMeanError(lowValues, highValues);
  EXPECT_GT(rounding, 0);
  EXPECT_LT(getMeanError(lowValues, byHand), 0.1 * rounding);

  double bound = getErrorBound(lowValues, highValues, element);
  EXPECT_GT(bound, 2 * getMaxError(lowValues, highValues));
  EXPECT_LT(bound, element.isF16() ? 8e-3 : 6e-2);
  // In f32 the reference's own rounding hardly counts.
  double tight = getErrorBound(lowValues, highValues, f32);
  EXPECT_LT(tight, 2 * getMaxError(lowValues, highValues) + 1e-6);
}

TEST_P(ReferenceTest, LowPrecisionOfMaskedAndCappedScores) {
  Problem p;
  p.queries = 9;
  p.keys = 5;
  p.clauses = "mods [#attention.softcap<4.0>, #attention.causal]";
  HostTensor q(element, {2, 2, 9, 16}), k(element, {2, 2, 5, 16}), v = k;
  HostTensor low = q, high = q, lse(f32, {2, 2, 9}), lowLse = lse;
  q.fillNormal(1);
  k.fillNormal(2);
  v.fillNormal(3);
  runInBothPrecisions(p, {q, k, v, high, lse}, {q, k, v, low, lowLse});
  double unit = element.isF16() ? 0x1p-11 : 0x1p-8;
  EXPECT_LT(getMaxError(low.getValues(), high.getValues()), 16 * unit);
  EXPECT_LT(getMaxError(lowLse.getValues(), lse.getValues()), 16 * unit);
  EXPECT_EQ(lowLse.get({0, 0, 3}), -INFINITY);
  EXPECT_EQ(low.get({0, 0, 3, 0}), 0);
}

//===----------------------------------------------------------------------===//
// Arguments that do not fit
//===----------------------------------------------------------------------===//

TEST_P(ReferenceTest, RefusesArguments) {
  Problem p;
  p.clauses = "scale %scale";
  p.parameters = ", %scale: f32";
  auto reference = create(getSource(p));
  ASSERT_TRUE(reference);
  HostTensor q(element, {2, 2, 7, 16}), k(element, {2, 2, 9, 16}), v = k, o = q;
  HostTensor lse(f32, {2, 2, 7});
  ReferenceArgument scale(f32, 1.0);
  auto error = [&](ArrayRef<ReferenceArgument> arguments) {
    return getError([&] { return reference->run(arguments); });
  };
  EXPECT_EQ(error({q, k}), "the reference takes 6 arguments, got 2");
  EXPECT_EQ(error({scale, k, v, scale, o, lse}),
            std::string("argument 'q' of the reference expects an array of ") +
                "'" + GetParam() + "', got a scalar of 'f32'");
  EXPECT_EQ(error({q, k, v, scale, lse, o}),
            std::string("argument 'o' of the reference expects an array of ") +
                "'" + GetParam() + "', got an array of 'f32'");
  HostTensor flat(element, {7, 16}), wide(element, {2, 2, 9, 32});
  EXPECT_EQ(error({flat, k, v, scale, o, lse}),
            "argument 'q' of the reference expects rank 4, got 2 extents and "
            "2 strides");
  EXPECT_EQ(error({q, wide, v, scale, o, lse}),
            "argument 'k' of the reference expects extent 16 in dimension 3, "
            "got 32");
  HostTensor columns(element, {2, 2, 9, 16}, {288, 144, 1, 9});
  EXPECT_EQ(error({q, k, columns, scale, o, lse}),
            "argument 'v' of the reference expects stride 1 in dimension 3, "
            "got 9");
  ReferenceArgument null(nullptr, q.getShape(), q.getStrides(), element);
  EXPECT_EQ(error({null, k, v, scale, o, lse}),
            "argument 'q' of the reference expects a pointer that is aligned "
            "to its elements");
  ReferenceArgument odd(static_cast<char *>(q.getData()) + 1, q.getShape(),
                        q.getStrides(), element);
  EXPECT_EQ(error({odd, k, v, scale, o, lse}),
            "argument 'q' of the reference expects a pointer that is aligned "
            "to its elements");
  ReferenceArgument negative(q.getData(), {2, -2, 7, 16}, q.getStrides(),
                             element);
  EXPECT_EQ(error({negative, k, v, scale, o, lse}),
            "argument 'q' of the reference expects extent 0 or more in "
            "dimension 1, got -2");
}

TEST_P(ReferenceTest, RefusesShapesThatDoNotAgree) {
  Problem p;
  p.clauses = "aux(%bias : tensor<?x?x?x?xf32>) scale %scale "
              "mods [#attention.bias<aux = 0>]";
  p.parameters = ", %scale: f32, %bias: tensor<?x?x?x?xf32>";
  auto reference = create(getSource(p));
  ASSERT_TRUE(reference);
  HostTensor lse(f32, {2, 4, 7}), bias(f32, {2, 4, 7, 9});
  auto make = [&](int64_t batch, int64_t heads, int64_t length) {
    return HostTensor(element, {batch, heads, length, 16});
  };
  auto error = [&](HostTensor q, HostTensor k, HostTensor v, HostTensor o,
                   HostTensor lse, HostTensor bias, double scale = 1) {
    std::string message = getError([&] {
      return reference->run(
          {q, k, v, ReferenceArgument(f32, scale), bias, o, lse});
    });
    StringRef prefix = "arguments of the reference do not fit: ";
    EXPECT_TRUE(StringRef(message).starts_with(prefix));
    return message.substr(std::min(message.size(), prefix.size()));
  };
  HostTensor q = make(2, 4, 7), k = make(2, 2, 9);
  EXPECT_EQ(error(q, make(1, 2, 9), k, q, lse, bias),
            "q and k differ in batch");
  EXPECT_EQ(error(q, k, make(3, 2, 9), q, lse, bias),
            "q and v differ in batch");
  EXPECT_EQ(error(q, k, make(2, 1, 9), q, lse, bias),
            "k and v differ in heads");
  EXPECT_EQ(error(q, k, make(2, 2, 8), q, lse, bias),
            "k and v differ in length");
  EXPECT_EQ(error(q, k, k, make(3, 4, 7), lse, bias),
            "q and o differ in batch");
  EXPECT_EQ(error(q, k, k, make(2, 2, 7), lse, bias),
            "q and o differ in heads");
  EXPECT_EQ(error(q, k, k, make(2, 4, 8), lse, bias),
            "q and o differ in length");
  EXPECT_EQ(error(q, k, k, q, HostTensor(f32, {1, 4, 7}), bias),
            "q and lse differ in batch");
  EXPECT_EQ(error(q, k, k, q, HostTensor(f32, {2, 2, 7}), bias),
            "q and lse differ in heads");
  EXPECT_EQ(error(q, k, k, q, HostTensor(f32, {2, 4, 6}), bias),
            "q and lse differ in length");
  EXPECT_EQ(error(q, make(2, 0, 9), make(2, 0, 9), q, lse, bias),
            "k has no heads");
  EXPECT_EQ(error(q, make(2, 3, 9), make(2, 3, 9), q, lse, bias),
            "the heads of q are not a multiple of the heads of k");
  EXPECT_EQ(error(q, k, k, q, lse, HostTensor(f32, {1, 4, 7, 9})),
            "aux0 has fewer entries in dimension 0 than there are batches");
  EXPECT_EQ(error(q, k, k, q, lse, HostTensor(f32, {2, 4, 7, 8})),
            "aux0 has fewer entries in dimension 3 than there are keys");
  EXPECT_EQ(error(q, k, k, q, lse, bias, 0), "scale is not positive");
  EXPECT_EQ(error(q, k, k, q, lse, bias, NAN), "scale is not positive");
}

TEST_P(ReferenceTest, RefusesOtherFunctions) {
  auto module = parseSourceString<ModuleOp>(
      "func.func private @declared(i32)\n"
      "func.func @blocks(%c: i1) { cf.br ^a\n ^a: return }\n",
      &context);
  ASSERT_TRUE(module);
  auto error = [&](StringRef name) {
    return getError([&] { return Reference::create(*module, name); });
  };
  EXPECT_EQ(error("absent"), "has no function 'absent' with a body");
  EXPECT_EQ(error("declared"), "has no function 'declared' with a body");
  EXPECT_EQ(error("blocks"),
            "expects straight-line code that returns nothing or one index, as "
            "attention-to-reference makes");
}
