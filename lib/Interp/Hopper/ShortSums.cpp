//===- ShortSums.cpp - sums inside products of 8-bit operands -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ShortSums.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <cmath>

using namespace fa3;

/// Products per instruction, and bits kept after the leading one.
static constexpr int64_t kDepth = 32;
static constexpr int kBits = 13;
static constexpr int kMantissaBits = 23, kExponentBias = 127;
/// Products of 8-bit numbers are far from the ends of the range of f32.
static constexpr int kLargestExponent = 100;

/// 2^exponent, for the exponents of normal numbers.
static float power(int exponent) {
  return llvm::bit_cast<float>(uint32_t(exponent + kExponentBias)
                               << kMantissaBits);
}

/// Bits of |value|, which are ordered as the absolute values are; those of
/// infinities and NaN come last.
static int32_t magnitude(float value) {
  return llvm::bit_cast<int32_t>(value) & 0x7fffffff;
}

/// Adds products of one row and one column. Loops over `depth` are such that
/// compilers vectorize them: value tests of 8-bit kernels spend their time
/// here.
static float add(int64_t depth, const float *lhs, const float *column,
                 float sum) {
  float products[kDepth];
  int32_t largest = magnitude(sum);
  for (int64_t i = 0; i < depth; ++i) {
    products[i] = lhs[i] * column[i];
    largest = std::max(largest, magnitude(products[i]));
  }
  int exponent = (largest >> kMantissaBits) - kExponentBias;
  if (exponent > kLargestExponent || largest == 0) {
    float plain = sum;
    for (int64_t i = 0; i < depth; ++i)
      plain += products[i];
    if (!std::isfinite(plain) || largest == 0)
      return plain;
  }
  exponent = std::clamp(exponent, -kLargestExponent, kLargestExponent);
  float toUnits = power(kBits - exponent), unit = power(exponent - kBits);
  // At most 33 numbers of 14 bits each: exact in 32 bits.
  int32_t units = int32_t(sum * toUnits);
  for (int64_t i = 0; i < depth; ++i)
    units += int32_t(products[i] * toUnits);
  return float(units) * unit;
}

void fa3::interp::addShortSums(int64_t m, int64_t n, int64_t k,
                               const float *lhs, const float *rhs,
                               float *sums) {
  float column[kDepth];
  for (int64_t first = 0; first < k; first += kDepth) {
    int64_t depth = std::min(kDepth, k - first);
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < depth; ++i)
        column[i] = rhs[(first + i) * n + j];
      for (int64_t i = 0; i < m; ++i)
        sums[i * n + j] =
            add(depth, lhs + i * k + first, column, sums[i * n + j]);
    }
  }
}
