//===- NumericsTest.cpp - element formats against APFloat -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Interp/Numerics.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace fa3::interp;
using llvm::APFloat;
using llvm::APInt;
using llvm::fltSemantics;

namespace {

struct SmallFloat {
  Format format;
  const fltSemantics &semantics;
  unsigned bits;
  uint32_t (*encode)(float);
  float (*decode)(uint32_t);
  /// Values beyond the largest finite one become it instead of inf or NaN.
  bool saturates;
};

const SmallFloat kFormats[] = {
    {Format::F16, APFloat::IEEEhalf(), 16,
     [](float v) -> uint32_t { return encodeF16(v); },
     [](uint32_t b) { return decodeF16(b); }, false},
    {Format::BF16, APFloat::BFloat(), 16,
     [](float v) -> uint32_t { return encodeBF16(v); },
     [](uint32_t b) { return decodeBF16(b); }, false},
    {Format::F8E4M3FN, APFloat::Float8E4M3FN(), 8,
     [](float v) -> uint32_t { return encodeF8E4M3FN(v); },
     [](uint32_t b) { return decodeF8E4M3FN(b); }, true},
    {Format::F8E5M2, APFloat::Float8E5M2(), 8,
     [](float v) -> uint32_t { return encodeF8E5M2(v); },
     [](uint32_t b) { return decodeF8E5M2(b); }, true},
};

/// The code APFloat rounds a value to, or the saturated one.
uint32_t expectedCode(const SmallFloat &format, APFloat value) {
  APFloat largest = APFloat::getLargest(format.semantics, value.isNegative());
  if (value.isNaN())
    return ~0u;
  bool losesInfo;
  APFloat rounded = value;
  rounded.convert(format.semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  if (format.saturates && (!rounded.isFinite() || rounded.isNaN()))
    rounded = largest;
  return rounded.bitcastToAPInt().getZExtValue();
}

void expectSameCode(const SmallFloat &format, float value) {
  uint32_t expected = expectedCode(format, APFloat(value));
  uint32_t code = format.encode(value);
  if (expected == ~0u)
    EXPECT_TRUE(std::isnan(format.decode(code))) << value;
  else
    EXPECT_EQ(code, expected) << getName(format.format).str() << " of " << value
                              << " (" << llvm::bit_cast<uint32_t>(value) << ")";
}

} // namespace

TEST(Numerics, EveryCodeDecodesAsAPFloatDoes) {
  for (const SmallFloat &format : kFormats)
    for (uint32_t code = 0; code < (1u << format.bits); ++code) {
      APFloat expected(format.semantics, APInt(format.bits, code));
      float value = format.decode(code);
      if (expected.isNaN()) {
        EXPECT_TRUE(std::isnan(value)) << code;
        continue;
      }
      EXPECT_EQ(llvm::bit_cast<uint32_t>(value),
                llvm::bit_cast<uint32_t>(expected.convertToFloat()))
          << getName(format.format).str() << " code " << code;
      if (std::isfinite(value) || !format.saturates) {
        EXPECT_EQ(format.encode(value), code);
      }
    }
}

TEST(Numerics, FloatsRoundAsAPFloatDoes) {
  std::mt19937 random(1);
  for (const SmallFloat &format : kFormats) {
    for (int i = 0; i < 200000; ++i)
      expectSameCode(format, llvm::bit_cast<float>(uint32_t(random())));
    // Every code, the midpoints to its neighbors, and just beside those.
    for (uint32_t code = 0; code + 1 < (1u << format.bits); ++code) {
      float low = format.decode(code), high = format.decode(code + 1);
      if (!std::isfinite(low) || !std::isfinite(high))
        continue;
      float middle = low / 2 + high / 2;
      expectSameCode(format, middle);
      expectSameCode(format, std::nextafterf(middle, low));
      expectSameCode(format, std::nextafterf(middle, high));
    }
    for (float special : {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 65519.9f,
                          65520.0f, 464.0f, 464.1f, 61440.0f, 1e-45f})
      expectSameCode(format, special);
  }
}

TEST(Numerics, DoublesRoundOnce) {
  std::mt19937_64 random(2);
  for (const SmallFloat &format : kFormats)
    for (int i = 0; i < 100000; ++i) {
      // Near a midpoint of the format, off by less than a float can tell.
      float low = format.decode(random() % (1u << (format.bits - 1)));
      float high = std::nextafterf(low, INFINITY);
      double value = (low + static_cast<double>(high)) / 2;
      value += std::ldexp(value, -40) * (static_cast<int>(i % 3) - 1);
      if (!std::isfinite(value))
        continue;
      uint32_t expected = expectedCode(format, APFloat(value));
      EXPECT_EQ(roundTo(format.format, value), format.decode(expected));
    }
  // 1 + 2^-11 + 2^-40: a float in between would round it to the tie and down.
  EXPECT_EQ(roundTo(Format::F16, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
}

TEST(Numerics, BuffersRoundAsSingleValues) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-500, 500);
  for (const SmallFloat &format : kFormats) {
    std::vector<float> values(1000);
    for (float &value : values)
      value = uniform(random);
    std::vector<float> rounded = values;
    roundTo(format.format, rounded.data(), rounded.size());
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(rounded[i], roundTo(format.format, double(values[i])));
  }
}

TEST(Numerics, MemoryRoundTrips) {
  uint8_t bytes[64];
  float floats[4] = {1.5f, -0.25f, 448.0f, 0.0f}, readFloats[4];
  for (Format format : {Format::F32, Format::F16, Format::BF16,
                        Format::F8E4M3FN, Format::F8E5M2}) {
    if (format == Format::F8E5M2)
      floats[2] = 384.0f;
    encode(format, floats, 4, 12, bytes);
    decode(format, bytes, 12, 4, readFloats);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(readFloats[i], floats[i]) << getName(format).str();
  }
  int64_t integers[3] = {-1, 100, -128}, readIntegers[3];
  for (Format format : {Format::I8, Format::I16, Format::I32, Format::I64}) {
    encode(format, integers, 3, getByteWidth(format), bytes);
    decode(format, bytes, getByteWidth(format), 3, readIntegers);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(readIntegers[i], integers[i]);
  }
}

TEST(Numerics, IntegersWrapWithTheirSign) {
  EXPECT_EQ(wrapTo(Format::I8, 200), -56);
  EXPECT_EQ(wrapTo(Format::I32, int64_t(1) << 31), INT32_MIN);
  EXPECT_EQ(wrapTo(Format::I1, 3), 1);
  EXPECT_EQ(wrapTo(Format::I64, -5), -5);
}
