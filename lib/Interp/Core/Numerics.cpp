//===- Numerics.cpp - element types as the hardware rounds them -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Interp/Numerics.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <array>
#include <cmath>
#include <limits>

using namespace fa3::interp;

std::optional<Format> fa3::interp::getFormat(mlir::Type type) {
  if (type.isIndex())
    return Format::I64;
  if (type.isF64())
    return Format::F64;
  if (type.isF32())
    return Format::F32;
  if (type.isF16())
    return Format::F16;
  if (type.isBF16())
    return Format::BF16;
  if (llvm::isa<mlir::Float8E4M3FNType>(type))
    return Format::F8E4M3FN;
  if (llvm::isa<mlir::Float8E5M2Type>(type))
    return Format::F8E5M2;
  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(type)) {
    switch (integer.getWidth()) {
    case 1:
      return Format::I1;
    case 8:
      return Format::I8;
    case 16:
      return Format::I16;
    case 32:
      return Format::I32;
    case 64:
      return Format::I64;
    default:
      return std::nullopt;
    }
  }
  return std::nullopt;
}

namespace {
struct FormatInfo {
  const char *name;
  int64_t bytes;
  unsigned integerBits;
  Lane lane;
};
} // namespace

static const FormatInfo &getInfo(Format format) {
  static constexpr FormatInfo infos[] = {
      {"f64", 8, 0, Lane::F64},      {"f32", 4, 0, Lane::F32},
      {"f16", 2, 0, Lane::F32},      {"bf16", 2, 0, Lane::F32},
      {"f8E4M3FN", 1, 0, Lane::F32}, {"f8E5M2", 1, 0, Lane::F32},
      {"i1", 1, 1, Lane::I1},        {"i8", 1, 8, Lane::I64},
      {"i16", 2, 16, Lane::I64},     {"i32", 4, 32, Lane::I64},
      {"i64", 8, 64, Lane::I64},
  };
  return infos[static_cast<unsigned>(format)];
}

llvm::StringRef fa3::interp::getName(Format format) {
  return getInfo(format).name;
}
int64_t fa3::interp::getByteWidth(Format format) {
  return getInfo(format).bytes;
}
bool fa3::interp::isFloat(Format format) {
  return getInfo(format).integerBits == 0;
}
unsigned fa3::interp::getIntegerBits(Format format) {
  return getInfo(format).integerBits;
}
Lane fa3::interp::getLane(Format format) { return getInfo(format).lane; }
int64_t fa3::interp::getLaneBytes(Lane lane) {
  return lane == Lane::I1 ? 1 : lane == Lane::F32 ? 4 : 8;
}

//===----------------------------------------------------------------------===//
// Small floats
//===----------------------------------------------------------------------===//

/// The code of a float in a format with `Exponent` exponent bits and `Mantissa`
/// stored mantissa bits. A value above the code `Largest` becomes `Overflow`.
template <unsigned Exponent, unsigned Mantissa, uint32_t Largest,
          uint32_t Overflow, uint32_t NaN>
static inline uint32_t encodeSmall(float value) {
  constexpr uint32_t shift = 23 - Mantissa;
  constexpr uint32_t bias = (1u << (Exponent - 1)) - 1;
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  uint32_t sign = (bits >> 31) << (Exponent + Mantissa);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return NaN;
  uint32_t code;
  if (magnitude >= (128 - bias) << 23) {
    // Normal in the target: move the exponent, round what is cut off.
    uint32_t moved = magnitude - ((127 - bias) << 23);
    code = (moved + (1u << (shift - 1)) - 1 + ((moved >> shift) & 1)) >> shift;
    if (code > Largest)
      code = Overflow;
  } else {
    // Below the least normal: count units of the least denormal. A carry into
    // the exponent gives the least normal, which is right.
    uint32_t exponent = magnitude >> 23;
    uint32_t cut = shift + (128 - bias) - exponent;
    uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
    if (exponent == 0 || cut > 25)
      code = 0;
    else
      code =
          (mantissa + (1u << (cut - 1)) - 1 + ((mantissa >> cut) & 1)) >> cut;
  }
  return sign | code;
}

uint16_t fa3::interp::encodeF16(float value) {
  return encodeSmall<5, 10, 0x7bff, 0x7c00, 0x7e00>(value);
}

uint16_t fa3::interp::encodeBF16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fc0;
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

uint8_t fa3::interp::encodeF8E4M3FN(float value) {
  return encodeSmall<4, 3, 0x7e, 0x7e, 0x7f>(value);
}

uint8_t fa3::interp::encodeF8E5M2(float value) {
  return encodeSmall<5, 2, 0x7b, 0x7b, 0x7f>(value);
}

float fa3::interp::decodeF16(uint16_t bits) {
  // Exponent and mantissa move into place; the product repairs the bias and
  // normalizes denormals.
  uint32_t magnitude = static_cast<uint32_t>(bits & 0x7fff) << 13;
  float scaled = llvm::bit_cast<float>(magnitude) * 0x1p112f;
  uint32_t result = llvm::bit_cast<uint32_t>(scaled);
  result |= (bits & 0x7c00) == 0x7c00 ? 0x7f800000u : 0u;
  return llvm::bit_cast<float>(result | static_cast<uint32_t>(bits & 0x8000)
                                            << 16);
}

float fa3::interp::decodeBF16(uint16_t bits) {
  return llvm::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

namespace {
/// Values of all codes of an 8-bit format.
template <unsigned Exponent, unsigned Mantissa, bool HasInfinity>
struct SmallTable {
  std::array<float, 256> values;
  SmallTable() {
    constexpr int bias = (1 << (Exponent - 1)) - 1;
    constexpr int top = (1 << Exponent) - 1, low = (1 << Mantissa) - 1;
    for (int code = 0; code < 256; ++code) {
      int exponent = (code >> Mantissa) & top, mantissa = code & low;
      float value =
          exponent ? std::ldexp(1.0f + std::ldexp(mantissa * 1.0f, -Mantissa),
                                exponent - bias)
                   : std::ldexp(mantissa * 1.0f, 1 - bias - int(Mantissa));
      if (HasInfinity && exponent == top)
        value = mantissa ? NAN : INFINITY;
      if (!HasInfinity && exponent == top && mantissa == low)
        value = NAN;
      values[code] = code & 0x80 ? -value : value;
    }
  }
};
} // namespace

float fa3::interp::decodeF8E4M3FN(uint8_t bits) {
  static const SmallTable<4, 3, false> table;
  return table.values[bits];
}

float fa3::interp::decodeF8E5M2(uint8_t bits) {
  static const SmallTable<5, 2, true> table;
  return table.values[bits];
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

float fa3::interp::narrowToOdd(double value) {
  float narrow = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(narrow) == value)
    return narrow;
  if (std::abs(static_cast<double>(narrow)) > std::abs(value))
    narrow = std::nextafterf(narrow, 0.0f);
  return llvm::bit_cast<float>(llvm::bit_cast<uint32_t>(narrow) | 1u);
}

double fa3::interp::roundTo(Format format, double value) {
  switch (format) {
  case Format::F32:
    return static_cast<float>(value);
  case Format::F16:
    return decodeF16(encodeF16(narrowToOdd(value)));
  case Format::BF16:
    return decodeBF16(encodeBF16(narrowToOdd(value)));
  case Format::F8E4M3FN:
    return decodeF8E4M3FN(encodeF8E4M3FN(narrowToOdd(value)));
  case Format::F8E5M2:
    return decodeF8E5M2(encodeF8E5M2(narrowToOdd(value)));
  default:
    return value;
  }
}

void fa3::interp::roundTo(Format format, float *values, int64_t count) {
  auto each = [&](auto &&function) {
    for (int64_t i = 0; i < count; ++i)
      values[i] = function(values[i]);
  };
  switch (format) {
  case Format::F16:
    return each([](float v) { return decodeF16(encodeF16(v)); });
  case Format::BF16:
    return each([](float v) { return decodeBF16(encodeBF16(v)); });
  case Format::F8E4M3FN:
    return each([](float v) { return decodeF8E4M3FN(encodeF8E4M3FN(v)); });
  case Format::F8E5M2:
    return each([](float v) { return decodeF8E5M2(encodeF8E5M2(v)); });
  default:
    return;
  }
}

int64_t fa3::interp::toInteger(double value) {
  constexpr double kLimit = 0x1p63;
  if (std::isnan(value))
    return 0;
  if (value >= kLimit)
    return std::numeric_limits<int64_t>::max();
  if (value < -kLimit)
    return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

int64_t fa3::interp::wrapTo(Format format, int64_t value) {
  switch (format) {
  case Format::I1:
    return value & 1;
  case Format::I8:
    return static_cast<int8_t>(value);
  case Format::I16:
    return static_cast<int16_t>(value);
  case Format::I32:
    return static_cast<int32_t>(value);
  default:
    return value;
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Converts elements of type `Stored` with `function` into lanes.
template <typename Stored, typename LaneType, typename Function>
static void decodeEach(const uint8_t *bytes, int64_t stride, int64_t count,
                       void *lanes, Function &&function) {
  LaneType *out = static_cast<LaneType *>(lanes);
  if (stride == sizeof(Stored)) {
    for (int64_t i = 0; i < count; ++i) {
      Stored stored;
      std::memcpy(&stored, bytes + i * sizeof(Stored), sizeof(Stored));
      out[i] = function(stored);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, bytes + i * stride, sizeof(Stored));
    out[i] = function(stored);
  }
}

void fa3::interp::decode(Format format, const uint8_t *bytes, int64_t stride,
                         int64_t count, void *lanes) {
  auto same = [](auto v) { return v; };
  switch (format) {
  case Format::F64:
    return decodeEach<double, double>(bytes, stride, count, lanes, same);
  case Format::F32:
    return decodeEach<float, float>(bytes, stride, count, lanes, same);
  case Format::F16:
    return decodeEach<uint16_t, float>(bytes, stride, count, lanes, decodeF16);
  case Format::BF16:
    return decodeEach<uint16_t, float>(bytes, stride, count, lanes, decodeBF16);
  case Format::F8E4M3FN:
    return decodeEach<uint8_t, float>(bytes, stride, count, lanes,
                                      decodeF8E4M3FN);
  case Format::F8E5M2:
    return decodeEach<uint8_t, float>(bytes, stride, count, lanes,
                                      decodeF8E5M2);
  case Format::I1:
    return decodeEach<uint8_t, uint8_t>(bytes, stride, count, lanes,
                                        [](uint8_t v) { return v & 1; });
  case Format::I8:
    return decodeEach<int8_t, int64_t>(bytes, stride, count, lanes, same);
  case Format::I16:
    return decodeEach<int16_t, int64_t>(bytes, stride, count, lanes, same);
  case Format::I32:
    return decodeEach<int32_t, int64_t>(bytes, stride, count, lanes, same);
  case Format::I64:
    return decodeEach<int64_t, int64_t>(bytes, stride, count, lanes, same);
  }
}

template <typename LaneType, typename Function>
static void encodeEach(const void *lanes, int64_t count, int64_t stride,
                       uint8_t *bytes, Function &&function) {
  const LaneType *in = static_cast<const LaneType *>(lanes);
  for (int64_t i = 0; i < count; ++i) {
    auto stored = function(in[i]);
    std::memcpy(bytes + i * stride, &stored, sizeof(stored));
  }
}

void fa3::interp::encode(Format format, const void *lanes, int64_t count,
                         int64_t stride, uint8_t *bytes) {
  auto same = [](auto v) { return v; };
  switch (format) {
  case Format::F64:
    return encodeEach<double>(lanes, count, stride, bytes, same);
  case Format::F32:
    return encodeEach<float>(lanes, count, stride, bytes, same);
  case Format::F16:
    return encodeEach<float>(lanes, count, stride, bytes, encodeF16);
  case Format::BF16:
    return encodeEach<float>(lanes, count, stride, bytes, encodeBF16);
  case Format::F8E4M3FN:
    return encodeEach<float>(lanes, count, stride, bytes, encodeF8E4M3FN);
  case Format::F8E5M2:
    return encodeEach<float>(lanes, count, stride, bytes, encodeF8E5M2);
  case Format::I1:
    return encodeEach<uint8_t>(lanes, count, stride, bytes, same);
  case Format::I8:
    return encodeEach<int64_t>(lanes, count, stride, bytes,
                               [](int64_t v) { return int8_t(v); });
  case Format::I16:
    return encodeEach<int64_t>(lanes, count, stride, bytes,
                               [](int64_t v) { return int16_t(v); });
  case Format::I32:
    return encodeEach<int64_t>(lanes, count, stride, bytes,
                               [](int64_t v) { return int32_t(v); });
  case Format::I64:
    return encodeEach<int64_t>(lanes, count, stride, bytes, same);
  }
}

double fa3::interp::loadAsDouble(Format format, const uint8_t *bytes) {
  switch (getLane(format)) {
  case Lane::F32: {
    float value;
    decode(format, bytes, 0, 1, &value);
    return value;
  }
  case Lane::F64: {
    double value;
    decode(format, bytes, 0, 1, &value);
    return value;
  }
  case Lane::I64: {
    int64_t value;
    decode(format, bytes, 0, 1, &value);
    return static_cast<double>(value);
  }
  case Lane::I1:
    return *bytes & 1;
  }
  return 0;
}

void fa3::interp::storeAsDouble(Format format, double value, uint8_t *bytes) {
  switch (getLane(format)) {
  case Lane::F32: {
    float lane = static_cast<float>(roundTo(format, value));
    return encode(format, &lane, 1, 0, bytes);
  }
  case Lane::F64:
    return encode(format, &value, 1, 0, bytes);
  case Lane::I64: {
    int64_t lane = toInteger(value);
    return encode(format, &lane, 1, 0, bytes);
  }
  case Lane::I1:
    *bytes = value != 0;
    return;
  }
}
