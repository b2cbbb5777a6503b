//===- Floats.cpp - arithmetic with floats --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sections 9.7.3, "Floating Point Instructions", and 9.7.4, "Half Precision
// Floating Point Instructions". Approximations are correctly rounded or nearly
// so here; the manual allows
//   ex2.approx  2 ulp + 2^-22 relative         lg2.approx  2^-22 absolute
//   rcp.approx  1 ulp                          div.full    2 ulp
//   sqrt.approx 2^-23 relative                 rsqrt.approx 2^-22.9 relative
//   tanh.approx 2^-11 relative                 sin, cos.approx 2^-20.9 absolute
// and a chip is somewhere in these bounds.
//===----------------------------------------------------------------------===//

#include "Numbers.h"

using namespace fa3::interp;
using namespace fa3::interp::ptx;

namespace {

#define FA3_FLOAT1(NAME, EXPRESSION)                                           \
  struct NAME {                                                                \
    template <typename T>                                                      \
    static T apply(T a) {                                                      \
      return EXPRESSION;                                                       \
    }                                                                          \
  };
#define FA3_FLOAT2(NAME, EXPRESSION)                                           \
  struct NAME {                                                                \
    template <typename T>                                                      \
    static T apply(T a, T b) {                                                 \
      return EXPRESSION;                                                       \
    }                                                                          \
  };
FA3_FLOAT1(NegF, -a)
FA3_FLOAT1(AbsF, std::abs(a))
FA3_FLOAT1(Rcp, T(1) / a)
FA3_FLOAT1(Sqrt, std::sqrt(a))
FA3_FLOAT1(Rsqrt, T(1) / std::sqrt(a))
FA3_FLOAT1(Ex2, std::exp2(a))
FA3_FLOAT1(Lg2, std::log2(a))
FA3_FLOAT1(Tanh, std::tanh(a))
FA3_FLOAT1(Sin, std::sin(a))
FA3_FLOAT1(Cos, std::cos(a))
FA3_FLOAT2(AddF, a + b)
FA3_FLOAT2(SubF, a - b)
FA3_FLOAT2(MulF, a *b)
FA3_FLOAT2(DivF, a / b)
FA3_FLOAT2(CopySign, std::copysign(b, a))
// A number beside a NaN wins; -0 is less than +0.
FA3_FLOAT2(MinF, std::isnan(a)   ? b
                 : std::isnan(b) ? a
                 : a == b        ? (std::signbit(a) ? a : b)
                                 : (a < b ? a : b))
FA3_FLOAT2(MaxF, std::isnan(a)   ? b
                 : std::isnan(b) ? a
                 : a == b        ? (std::signbit(a) ? b : a)
                                 : (a < b ? b : a))
FA3_FLOAT2(MinNaN, std::isnan(a) || std::isnan(b) ? T(NAN) : MinF::apply(a, b))
FA3_FLOAT2(MaxNaN, std::isnan(a) || std::isnan(b) ? T(NAN) : MaxF::apply(a, b))
#undef FA3_FLOAT1
#undef FA3_FLOAT2
struct FmaF {
  template <typename T>
  static T apply(T a, T b, T c) {
    return std::fma(a, b, c);
  }
};

/// Sign changes keep the bits of a NaN.
template <typename F>
constexpr bool kKeepsNaN = std::is_same_v<F, NegF> || std::is_same_v<F, AbsF> ||
                           std::is_same_v<F, CopySign>;

/// F on floats of 32 bits; `ftz` flushes what goes in and what comes out.
template <typename F, bool ftz>
struct Single {
  static float in(float value) { return ftz ? flush(value) : value; }
  static float out(float value) {
    if (!kKeepsNaN<F>)
      value = canonical(value);
    return ftz ? flush(value) : value;
  }
  static float apply(float a) { return out(F::apply(in(a))); }
  static float apply(float a, float b) { return out(F::apply(in(a), in(b))); }
  static float apply(float a, float b, float c) {
    return out(F::apply(in(a), in(b), in(c)));
  }
};

/// F on floats of 16 bits.
template <typename F, typename Format>
struct Narrow {
  static uint16_t apply(uint16_t a) {
    if (std::is_same_v<F, NegF>)
      return a ^ 0x8000;
    if (std::is_same_v<F, AbsF>)
      return a & 0x7fff;
    return Format::encode(F::apply(Format::decode(a)));
  }
  static uint16_t apply(uint16_t a, uint16_t b) {
    return Format::encode(F::apply(Format::decode(a), Format::decode(b)));
  }
  static uint16_t apply(uint16_t a, uint16_t b, uint16_t c) {
    return Format::encode(
        fmaToOdd(Format::decode(a), Format::decode(b), Format::decode(c)));
  }
};

/// F on both halves of 32 bits.
template <typename F>
struct Pair {
  template <typename... T>
  static uint32_t apply(T... values) {
    return F::apply(uint16_t(values)...) |
           uint32_t(F::apply(uint16_t(values >> 16)...)) << 16;
  }
};

template <typename F, unsigned n>
Handler choose(Type type, bool ftz) {
  switch (type) {
  case Type::F32:
    return ftz ? runEach<Single<F, true>, n, float>
               : runEach<Single<F, false>, n, float>;
  case Type::F64:
    return runEach<F, n, double>;
  case Type::F16:
    return runEach<Narrow<F, HalfFormat>, n, uint16_t>;
  case Type::BF16:
    return runEach<Narrow<F, BrainFormat>, n, uint16_t>;
  case Type::F16x2:
    return runEach<Pair<Narrow<F, HalfFormat>>, n, uint32_t>;
  case Type::BF16x2:
    return runEach<Pair<Narrow<F, BrainFormat>>, n, uint32_t>;
  default:
    return nullptr;
  }
}

/// What is left of an instruction with `n` operands, from `.ftz` on.
template <typename F, unsigned n>
bool finish(Decoder &d) {
  bool ftz = d.take("ftz");
  Type type = d.takeType();
  return decodePlain(d, choose<F, n>(type, ftz), type, n + 1);
}

template <typename F, IntegerKind kind>
bool decodeArithmetic(Decoder &d) {
  if (!isFloat(d.getLastType()))
    return decodeInteger(d, kind);
  d.take("rn");
  return finish<F, 2>(d);
}

/// Division with 2 ulp (approx, full) or correctly rounded.
bool decodeDiv(Decoder &d) {
  if (!isFloat(d.getLastType()))
    return decodeInteger(d, IntegerKind::Div);
  d.takeOneOf({"approx", "full", "rn"});
  return finish<DivF, 2>(d);
}

template <typename F, typename PropagatingF, IntegerKind kind>
bool decodeMinMax(Decoder &d) {
  if (!isFloat(d.getLastType()))
    return decodeInteger(d, kind);
  bool ftz = d.take("ftz"), propagates = d.take("NaN");
  Type type = d.takeType();
  return decodePlain(d,
                     propagates ? choose<PropagatingF, 2>(type, ftz)
                                : choose<F, 2>(type, ftz),
                     type, 3);
}

template <typename F, IntegerKind kind>
bool decodeSign(Decoder &d) {
  return isFloat(d.getLastType()) ? finish<F, 1>(d) : decodeInteger(d, kind);
}

bool decodeFma(Decoder &d) {
  d.take("rn");
  return finish<FmaF, 3>(d);
}

bool decodeMad(Decoder &d) {
  return isFloat(d.getLastType()) ? decodeFma(d)
                                  : decodeInteger(d, IntegerKind::Mad);
}

/// The sign of the first operand and the size of the second.
bool decodeCopySign(Decoder &d) {
  Type type = d.takeType();
  if (type != Type::F32 && type != Type::F64)
    return d.fail("has a type that the executor does not know");
  return decodePlain(d, choose<CopySign, 2>(type, /*ftz=*/false), type, 3);
}

template <typename F>
bool decodeSpecial(Decoder &d) {
  d.takeOneOf({"approx", "rn"});
  return finish<F, 1>(d);
}

} // namespace

/// Beside each instruction its sections of floats; see Integers.cpp for others.
void fa3::interp::ptx::addArithmetic(Table &table) {
  table["add"] = decodeArithmetic<AddF, IntegerKind::Add>; // 9.7.3.3, 9.7.4.1
  table["sub"] = decodeArithmetic<SubF, IntegerKind::Sub>; // 9.7.3.4, 9.7.4.2
  table["mul"] = decodeArithmetic<MulF, IntegerKind::Mul>; // 9.7.3.5, 9.7.4.3
  table["div"] = decodeDiv;                                // 9.7.3.8
  table["rem"] = [](Decoder &d) { return decodeInteger(d, IntegerKind::Rem); };
  table["min"] =
      decodeMinMax<MinF, MinNaN, IntegerKind::Min>; // 9.7.3.11, 9.7.4.7
  table["max"] =
      decodeMinMax<MaxF, MaxNaN, IntegerKind::Max>;  // 9.7.3.12, 9.7.4.8
  table["neg"] = decodeSign<NegF, IntegerKind::Neg>; // 9.7.3.10, 9.7.4.5
  table["abs"] = decodeSign<AbsF, IntegerKind::Abs>; // 9.7.3.9, 9.7.4.6
  table["fma"] = decodeFma;                          // 9.7.3.6, 9.7.4.4
  table["mad"] = decodeMad;                          // 9.7.3.7
  table["copysign"] = decodeCopySign;                // 9.7.3.2
  table["rcp"] = decodeSpecial<Rcp>;                 // 9.7.3.13
  table["sqrt"] = decodeSpecial<Sqrt>;               // 9.7.3.15
  table["rsqrt"] = decodeSpecial<Rsqrt>;             // 9.7.3.16
  table["ex2"] = decodeSpecial<Ex2>;                 // 9.7.3.21, 9.7.4.10
  table["lg2"] = decodeSpecial<Lg2>;                 // 9.7.3.20
  table["tanh"] = decodeSpecial<Tanh>;               // 9.7.3.22, 9.7.4.9
  table["sin"] = decodeSpecial<Sin>;                 // 9.7.3.18
  table["cos"] = decodeSpecial<Cos>;                 // 9.7.3.19
}
