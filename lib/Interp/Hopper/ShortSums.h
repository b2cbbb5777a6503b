//===- ShortSums.h - sums inside products of 8-bit operands -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_INTERP_HOPPER_SHORTSUMS_H
#define FA3_LIB_INTERP_HOPPER_SHORTSUMS_H

#include <cstdint>

namespace fa3::interp {

/// Adds lhs (m x k) times rhs (k x n), row-major values of 8-bit formats, to
/// `sums` as Hopper's tensor cores do: for every 32 products, the depth of one
/// instruction, they and the sum so far are cut, toward zero, to 13 bits after
/// the leading bit of the largest of them, and added. So found on an H200 by
/// comparing errors of long sums (docs/Performance.md); FlashAttention-3
/// implementations know it as an accumulator of 22 bits.
void addShortSums(int64_t m, int64_t n, int64_t k, const float *lhs,
                  const float *rhs, float *sums);

} // namespace fa3::interp

#endif // FA3_LIB_INTERP_HOPPER_SHORTSUMS_H
