//===- Numerics.h - element types as the hardware rounds them ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Formats of elements in memory and the lanes they are computed in. Floats of
// up to 32 bits are computed as float and rounded to their format after every
// operation; integers as sign-extended 64-bit values.
//===----------------------------------------------------------------------===//

#ifndef FA3_INTERP_NUMERICS_H
#define FA3_INTERP_NUMERICS_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <cstring>
#include <optional>

namespace mlir {
class Type;
} // namespace mlir

namespace fa3::interp {

/// How an element is stored in memory.
enum class Format : uint8_t {
  F64,
  F32,
  F16,
  BF16,
  F8E4M3FN,
  F8E5M2,
  I1, // one byte, 0 or 1
  I8,
  I16,
  I32,
  I64,
};

/// How elements are held while they are computed with.
enum class Lane : uint8_t { F32, F64, I64, I1 };

/// The format of a scalar type; empty for types without one. `index` has 64
/// bits.
std::optional<Format> getFormat(mlir::Type type);
llvm::StringRef getName(Format format);
int64_t getByteWidth(Format format);
bool isFloat(Format format);
/// Bits of an integer format; 0 for floats.
unsigned getIntegerBits(Format format);
Lane getLane(Format format);
int64_t getLaneBytes(Lane lane);

/// Round to nearest even. The 16-bit formats overflow to infinity; the 8-bit
/// formats saturate to the largest finite value, as cvt.rn.satfinite does.
uint16_t encodeF16(float value);
uint16_t encodeBF16(float value);
uint8_t encodeF8E4M3FN(float value);
uint8_t encodeF8E5M2(float value);
float decodeF16(uint16_t bits);
float decodeBF16(uint16_t bits);
float decodeF8E4M3FN(uint8_t bits);
float decodeF8E5M2(uint8_t bits);

/// A float that rounds to every narrower format as `value` itself does: the
/// inexact cases keep a sticky last bit (rounding to odd).
float narrowToOdd(double value);

/// The nearest value of a float format.
double roundTo(Format format, double value);
/// Rounds floats in place to a format of at most 32 bits.
void roundTo(Format format, float *values, int64_t count);
/// The value of the low bits of an integer, sign-extended (0 or 1 for I1).
int64_t wrapTo(Format format, int64_t value);

/// Reads `count` elements, `stride` bytes apart, into lanes of
/// getLane(format).
void decode(Format format, const uint8_t *bytes, int64_t stride, int64_t count,
            void *lanes);
/// Writes lanes, which hold values of the format, as elements.
void encode(Format format, const void *lanes, int64_t count, int64_t stride,
            uint8_t *bytes);

/// Towards zero; beyond 64 bits the nearest number, 0 for NaN.
int64_t toInteger(double value);

/// One element as double, whatever its format; and the reverse, rounding.
double loadAsDouble(Format format, const uint8_t *bytes);
void storeAsDouble(Format format, double value, uint8_t *bytes);

} // namespace fa3::interp

#endif // FA3_INTERP_NUMERICS_H
