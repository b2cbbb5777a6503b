//===- PTXConversions.cpp - cvt -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Section 9.7.9.21, "cvt".
//===----------------------------------------------------------------------===//

#include "Numbers.h"

using namespace fa3::interp;
using namespace fa3::interp::ptx;

namespace {

enum class Rounding : uint8_t { None, Nearest, Zero, Down, Up };

struct CvtExtra : Extra {
  Type to, from;
  Rounding rounding = Rounding::None;
  bool toInteger = false; ///< rni and its kin
  bool ftz = false, saturate = false, finite = false, relu = false;
};

double roundToInteger(double value, Rounding rounding) {
  return rounding == Rounding::Zero   ? std::trunc(value)
         : rounding == Rounding::Down ? std::floor(value)
         : rounding == Rounding::Up   ? std::ceil(value)
                                      : std::nearbyint(value);
}

double loadFloat(Type type, uint64_t bits) {
  return type == Type::F16    ? decodeF16(bits)
         : type == Type::BF16 ? decodeBF16(bits)
         : type == Type::F32  ? llvm::bit_cast<float>(uint32_t(bits))
                              : llvm::bit_cast<double>(bits);
}

/// A float of 16 bits, cut toward zero.
template <typename Format>
uint16_t encodeTowardZero(float value) {
  uint16_t bits = Format::encode(value);
  // One step back if rounding went away from zero; infinity from a finite
  // number as well.
  if (std::abs(Format::decode(bits)) > std::abs(value))
    --bits;
  return bits;
}

uint16_t encodeNarrow(const CvtExtra &cvt, Type type, double value) {
  float narrow = narrowToOdd(value);
  if (cvt.relu && !(narrow > 0) && !std::isnan(narrow))
    narrow = 0;
  bool toZero = cvt.rounding == Rounding::Zero;
  uint16_t bits;
  uint16_t largest;
  if (type == Type::F16) {
    bits = toZero ? encodeTowardZero<HalfFormat>(narrow)
                  : HalfFormat::encode(narrow);
    largest = 0x7bff;
  } else {
    bits = toZero ? encodeTowardZero<BrainFormat>(narrow)
                  : BrainFormat::encode(narrow);
    largest = 0x7f7f;
  }
  if (cvt.finite && (bits & 0x7fff) == largest + 1)
    bits = (bits & 0x8000) | largest;
  return bits;
}

/// Two floats of 8 bits.
uint16_t encodePair(const CvtExtra &cvt, float low, float high) {
  auto encode = [&](float value) -> uint16_t {
    if (cvt.relu && !(value > 0) && !std::isnan(value))
      value = 0;
    return cvt.to == Type::E4M3x2 ? encodeF8E4M3FN(value) : encodeF8E5M2(value);
  };
  return encode(low) | encode(high) << 8;
}

uint64_t storeFloat(const CvtExtra &cvt, double value) {
  if (cvt.saturate) // NaN becomes 0
    value = value > 0 ? std::min(value, 1.0) : 0.0;
  switch (cvt.to) {
  case Type::F16:
  case Type::BF16:
    return encodeNarrow(cvt, cvt.to, value);
  case Type::F32: {
    float narrow = static_cast<float>(value);
    if (cvt.rounding == Rounding::Zero && std::isfinite(value) &&
        std::abs(static_cast<double>(narrow)) > std::abs(value))
      narrow = std::nextafter(narrow, 0.0f);
    narrow = canonical(narrow);
    return llvm::bit_cast<uint32_t>(cvt.ftz ? flush(narrow) : narrow);
  }
  default:
    return llvm::bit_cast<uint64_t>(value);
  }
}

/// To an integer type: what is out of range becomes the nearest number, NaN 0.
uint64_t storeInteger(Type type, double value) {
  unsigned bits = getBits(type);
  if (std::isnan(value))
    return 0;
  double low = isSigned(type) ? -std::ldexp(1.0, bits - 1) : 0.0;
  double limit = std::ldexp(1.0, isSigned(type) ? bits - 1 : bits);
  if (value <= low)
    return isSigned(type) ? uint64_t(1) << (bits - 1) : 0;
  if (value >= limit)
    return (isSigned(type) ? uint64_t(1) << (bits - 1) : 0) - 1;
  return value < 0 ? uint64_t(int64_t(value)) : uint64_t(value);
}

int64_t loadSigned(Type type, uint64_t bits) {
  unsigned shift = 64 - getBits(type);
  return int64_t(bits << shift) >> shift;
}
uint64_t loadUnsigned(Type type, uint64_t bits) {
  unsigned shift = 64 - getBits(type);
  return bits << shift >> shift;
}

uint64_t convert(const CvtExtra &cvt, uint64_t bits) {
  bool fromFloat = isFloat(cvt.from), toFloat = isFloat(cvt.to);
  if (fromFloat) {
    double value = loadFloat(cvt.from, bits);
    if (cvt.ftz && cvt.from == Type::F32)
      value = flush(static_cast<float>(value));
    if (cvt.toInteger)
      value = roundToInteger(value, cvt.rounding);
    return toFloat ? storeFloat(cvt, value) : storeInteger(cvt.to, value);
  }
  if (toFloat) {
    // Through 64 bits; numbers beyond 2^53 are rounded to odd on the way.
    uint64_t magnitude = loadUnsigned(cvt.from, bits);
    bool negative = isSigned(cvt.from) && loadSigned(cvt.from, bits) < 0;
    if (negative)
      magnitude = -loadSigned(cvt.from, bits);
    if (cvt.to != Type::F64 && magnitude >> 53)
      magnitude = (magnitude & ~uint64_t(0xfff)) | ((magnitude & 0xfff) != 0)
                                                       << 12;
    double value = static_cast<double>(magnitude);
    return storeFloat(cvt, negative ? -value : value);
  }
  if (!cvt.saturate)
    return isSigned(cvt.from) ? loadSigned(cvt.from, bits)
                              : loadUnsigned(cvt.from, bits);
  __int128 value = isSigned(cvt.from) ? __int128(loadSigned(cvt.from, bits))
                                      : __int128(loadUnsigned(cvt.from, bits));
  unsigned width = getBits(cvt.to);
  __int128 low = isSigned(cvt.to) ? -(__int128(1) << (width - 1)) : 0;
  __int128 high = (__int128(1) << (width - isSigned(cvt.to))) - 1;
  return uint64_t(std::clamp(value, low, high));
}

Step runCvt(Warp &w, const Instr &in, uint32_t mask) {
  const auto &cvt = static_cast<const CvtExtra &>(*in.extra);
  Operand out = in.out();
  unsigned width = getBits(cvt.to);
  forLanes(mask, [&](unsigned lane) {
    uint64_t bits = convert(cvt, getBits(w, in.in(0), lane));
    // Narrow integers are extended to the register.
    if (width < out.bits && !isFloat(cvt.to))
      bits = isSigned(cvt.to) ? loadSigned(cvt.to, bits)
                              : loadUnsigned(cvt.to, bits);
    setBits(w, out, lane, bits);
  });
  return Step::Next;
}

/// cvt.rn.f16x2.f32 and its kin: two floats into one register; the first one
/// into the high half.
Step runPack(Warp &w, const Instr &in, uint32_t mask) {
  const auto &cvt = static_cast<const CvtExtra &>(*in.extra);
  auto load = [&](const Operand &operand, unsigned lane) {
    float value = get<float>(w, operand, lane);
    return cvt.ftz ? flush(value) : value;
  };
  forLanes(mask, [&](unsigned lane) {
    float high = load(in.in(0), lane), low = load(in.in(1), lane);
    if (cvt.to == Type::F16x2 || cvt.to == Type::BF16x2) {
      Type half = cvt.to == Type::F16x2 ? Type::F16 : Type::BF16;
      set<uint32_t>(w, in.out(), lane,
                    encodeNarrow(cvt, half, low) |
                        uint32_t(encodeNarrow(cvt, half, high)) << 16);
      return;
    }
    set<uint16_t>(w, in.out(), lane, encodePair(cvt, low, high));
  });
  return Step::Next;
}

/// Two floats of 8 bits into two of 16, and the reverse.
Step runUnpack(Warp &w, const Instr &in, uint32_t mask) {
  const auto &cvt = static_cast<const CvtExtra &>(*in.extra);
  forLanes(mask, [&](unsigned lane) {
    uint16_t pair = get<uint16_t>(w, in.in(0), lane);
    auto decode = [&](uint8_t bits) -> uint32_t {
      return HalfFormat::encode(cvt.from == Type::E4M3x2 ? decodeF8E4M3FN(bits)
                                                         : decodeF8E5M2(bits));
    };
    set<uint32_t>(w, in.out(), lane, decode(pair) | decode(pair >> 8) << 16);
  });
  return Step::Next;
}
Step runRepack(Warp &w, const Instr &in, uint32_t mask) {
  const auto &cvt = static_cast<const CvtExtra &>(*in.extra);
  forLanes(mask, [&](unsigned lane) {
    uint32_t pair = get<uint32_t>(w, in.in(0), lane);
    Type half = cvt.from == Type::F16x2 ? Type::F16 : Type::BF16;
    set<uint16_t>(w, in.out(), lane,
                  encodePair(cvt, loadFloat(half, pair & 0xffff),
                             loadFloat(half, pair >> 16)));
  });
  return Step::Next;
}

bool decodeCvt(Decoder &d) {
  auto cvt = std::make_shared<CvtExtra>();
  d.instr.extra = cvt;
  int rounding =
      d.takeOneOf({"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"});
  static constexpr Rounding modes[] = {Rounding::Nearest, Rounding::Zero,
                                       Rounding::Down, Rounding::Up};
  if (rounding >= 0)
    cvt->rounding = modes[rounding % 4];
  cvt->toInteger = rounding >= 4;
  cvt->ftz = d.take("ftz");
  cvt->saturate = d.take("sat");
  cvt->finite = d.take("satfinite");
  cvt->relu = d.take("relu");
  cvt->to = d.takeType();
  cvt->from = d.takeType();
  Type to = cvt->to, from = cvt->from;
  bool to8 = to == Type::E4M3x2 || to == Type::E5M2x2;
  bool from8 = from == Type::E4M3x2 || from == Type::E5M2x2;
  if (!cvt->toInteger && (rounding == 2 || rounding == 3))
    return d.fail("rounds in a way that the executor does not know");
  if (to8 && !cvt->finite)
    return d.fail("to 8 bits expects '.satfinite'");
  if ((to8 || to == Type::F16x2 || to == Type::BF16x2) && from == Type::F32) {
    d.instr.run = runPack;
    return d.finish(3) && d.result(0, to8 ? Type::B16 : to) &&
           d.operands(1, 2, from);
  }
  if (from8 && to == Type::F16x2) {
    d.instr.run = runUnpack;
    return d.finish(2) && d.result(0, to) && d.operand(1, Type::B16);
  }
  if (to8 && (from == Type::F16x2 || from == Type::BF16x2)) {
    d.instr.run = runRepack;
    return d.finish(2) && d.result(0, Type::B16) && d.operand(1, from);
  }
  if (to == Type::None || from == Type::None || to == Type::Pred ||
      from == Type::Pred || to >= Type::B128 || from >= Type::B128 ||
      to == Type::F16x2 || to == Type::BF16x2 || from == Type::F16x2 ||
      from == Type::BF16x2)
    return d.fail("has types that the executor does not know");
  d.instr.run = runCvt;
  const Statement &s = d.getStatement();
  return d.finish(2) && d.wideResult(s.args[0], to) &&
         d.wideOperand(s.args[1], from);
}

} // namespace

void fa3::interp::ptx::addConversions(Table &table) {
  table["cvt"] = decodeCvt;
}
