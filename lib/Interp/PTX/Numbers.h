//===- Numbers.h - floats as registers hold them ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_INTERP_PTX_NUMBERS_H
#define FA3_LIB_INTERP_PTX_NUMBERS_H

#include "Lanes.h"
#include "fa3/Interp/Numerics.h"
#include "llvm/ADT/bit.h"

namespace fa3::interp::ptx {

/// Formats of 16 bits, whose values are computed as float.
struct HalfFormat {
  static float decode(uint16_t bits) { return decodeF16(bits); }
  static uint16_t encode(float value) {
    return std::isnan(value) ? 0x7fff : encodeF16(value);
  }
};
struct BrainFormat {
  static float decode(uint16_t bits) { return decodeBF16(bits); }
  static uint16_t encode(float value) {
    return std::isnan(value) ? 0x7fff : encodeBF16(value);
  }
};

/// a * b + c, so that rounding it to 16 bits is rounding once (see
/// narrowToOdd).
inline float fmaToOdd(float a, float b, float c) {
  double product = static_cast<double>(a) * b, addend = c;
  double sum = product + addend;
  double other = sum - product;
  double lost = (product - (sum - other)) + (addend - other);
  if (lost != 0 && std::isfinite(lost)) {
    if ((lost < 0) != (sum < 0))
      sum = std::nextafter(sum, 0.0);
    sum = llvm::bit_cast<double>(llvm::bit_cast<uint64_t>(sum) | 1);
  }
  return narrowToOdd(sum);
}

} // namespace fa3::interp::ptx

#endif // FA3_LIB_INTERP_PTX_NUMBERS_H
