//===- ExactSum.h - sums of f32 in words of integers ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The format of the sums of tile.add_exact. A word has the terms of eight
// exponents, so that a term is an integer below 2^31 in its units, and sums of
// them do not depend on an order.
//===----------------------------------------------------------------------===//

#ifndef FA3_SUPPORT_EXACTSUM_H
#define FA3_SUPPORT_EXACTSUM_H

#include "llvm/ADT/bit.h"
#include <cmath>
#include <cstdint>
#include <limits>

namespace fa3 {

/// Words of a sum.
inline constexpr int64_t kExactWords = 32;
/// Terms that a word has room for, whatever they are.
inline constexpr int64_t kMostExactTerms = int64_t(1) << 32;
/// Exponents of a word, bits of a fraction, and what a biased exponent is more
/// than that of the last bit of its number.
inline constexpr int kExactExponents = 8, kFractionBits = 23,
                     kExactBias = 127 + kFractionBits;

/// What a term adds to which word.
struct ExactTerm {
  int64_t word = 0, amount = 0;
};

inline ExactTerm getExactTerm(float term) {
  auto bits = llvm::bit_cast<uint32_t>(term);
  int64_t exponent = bits >> kFractionBits & 0xff;
  if (exponent == 0xff)
    return {0, 1};
  int64_t word = exponent / kExactExponents;
  if (word == 0)
    return {};
  int64_t fraction = (bits & 0x7fffff) | 0x800000;
  int64_t amount = fraction << exponent % kExactExponents;
  return {word, bits >> 31 ? -amount : amount};
}

inline float readExact(const int64_t *words) {
  if (words[0] != 0)
    return std::numeric_limits<float>::quiet_NaN();
  double sum = 0;
  for (int64_t word = kExactWords - 1; word > 0; --word)
    sum = std::fma(sum, double(1 << kExactExponents), double(words[word]));
  return float(std::ldexp(sum, kExactExponents - kExactBias));
}

} // namespace fa3

#endif // FA3_SUPPORT_EXACTSUM_H
