//===- Integers.cpp - integer arithmetic ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Section 9.7.1, "Integer Arithmetic Instructions": add (9.7.1.1), sub
// (9.7.1.2), mul (9.7.1.3), mad (9.7.1.4), div (9.7.1.8), rem (9.7.1.9), abs
// (9.7.1.10), neg (9.7.1.11), min (9.7.1.12), max (9.7.1.13).
//===----------------------------------------------------------------------===//

#include "Lanes.h"

using namespace fa3::interp;
using namespace fa3::interp::ptx;

namespace {

/// A number of twice the width.
int32_t widen(int16_t a) { return a; }
uint32_t widen(uint16_t a) { return a; }
int64_t widen(int32_t a) { return a; }
uint64_t widen(uint32_t a) { return a; }
__int128 widen(int64_t a) { return a; }
unsigned __int128 widen(uint64_t a) { return a; }
template <typename T>
using WideOf = decltype(widen(T()));
template <typename T>
using Unsigned = std::make_unsigned_t<T>;

#define FA3_BINARY(NAME, EXPRESSION)                                           \
  template <typename T>                                                        \
  struct NAME {                                                                \
    static T apply(T a, T b) { return EXPRESSION; }                            \
  };
FA3_BINARY(Add, T(Unsigned<T>(a) + Unsigned<T>(b)))
FA3_BINARY(Sub, T(Unsigned<T>(a) - Unsigned<T>(b)))
FA3_BINARY(MulLow, T(WideOf<T>(a) * WideOf<T>(b)))
FA3_BINARY(MulHigh, T((WideOf<T>(a) * WideOf<T>(b)) >> (8 * sizeof(T))))
// A division by zero gives what the hardware does: unspecified, all ones here.
FA3_BINARY(Div, b == 0 ? T(~T(0)) : T(WideOf<T>(a) / WideOf<T>(b)))
FA3_BINARY(Rem, b == 0 ? a : T(WideOf<T>(a) % WideOf<T>(b)))
FA3_BINARY(Min, a < b ? a : b)
FA3_BINARY(Max, a < b ? b : a)
FA3_BINARY(MinRelu, std::max<T>(a < b ? a : b, 0))
FA3_BINARY(MaxRelu, std::max<T>(a < b ? b : a, 0))
#undef FA3_BINARY

template <typename T>
struct Neg {
  static T apply(T a) { return T(Unsigned<T>(0) - Unsigned<T>(a)); }
};
template <typename T>
struct Abs {
  static T apply(T a) { return a < 0 ? Neg<T>::apply(a) : a; }
};
template <typename T>
struct MadLow {
  static T apply(T a, T b, T c) {
    return Add<T>::apply(MulLow<T>::apply(a, b), c);
  }
};
template <typename T>
struct MadHigh {
  static T apply(T a, T b, T c) {
    return Add<T>::apply(MulHigh<T>::apply(a, b), c);
  }
};
template <typename T>
struct MulWide {
  static WideOf<T> apply(T a, T b) { return WideOf<T>(a) * WideOf<T>(b); }
};
template <typename T>
struct MadWide {
  static WideOf<T> apply(T a, T b, WideOf<T> c) {
    return Add<WideOf<T>>::apply(WideOf<T>(a) * WideOf<T>(b), c);
  }
};

template <template <typename> class F, unsigned n>
Handler choose(Type type) {
  return forInteger(type, [](auto t) -> Handler {
    return runEach<F<decltype(t)>, n, decltype(t)>;
  });
}

/// `part`: 0 for the low half of a product, 1 for the high one.
Handler choose(IntegerKind kind, Type type, bool isRelu, int part) {
  switch (kind) {
  case IntegerKind::Add:
    return choose<Add, 2>(type);
  case IntegerKind::Sub:
    return choose<Sub, 2>(type);
  case IntegerKind::Div:
    return choose<Div, 2>(type);
  case IntegerKind::Rem:
    return choose<Rem, 2>(type);
  case IntegerKind::Min:
    return isRelu ? choose<MinRelu, 2>(type) : choose<Min, 2>(type);
  case IntegerKind::Max:
    return isRelu ? choose<MaxRelu, 2>(type) : choose<Max, 2>(type);
  case IntegerKind::Neg:
    return isSigned(type) ? choose<Neg, 1>(type) : nullptr;
  case IntegerKind::Abs:
    return isSigned(type) ? choose<Abs, 1>(type) : nullptr;
  case IntegerKind::Mul:
    return part == 0   ? choose<MulLow, 2>(type)
           : part == 1 ? choose<MulHigh, 2>(type)
                       : nullptr;
  case IntegerKind::Mad:
    return part == 0   ? choose<MadLow, 3>(type)
           : part == 1 ? choose<MadHigh, 3>(type)
                       : nullptr;
  }
  return nullptr;
}

/// mul.wide, mad.wide: the whole product.
bool decodeWide(Decoder &d, Type type, bool adds) {
  d.instr.run = forInteger(type, [&](auto t) -> Handler {
    using T = decltype(t);
    using W = WideOf<T>;
    if constexpr (sizeof(T) < 8)
      return adds ? runEach<MadWide<T>, 3, W, T, W>
                  : runEach<MulWide<T>, 2, W, T>;
    else
      return nullptr;
  });
  if (!d.instr.run)
    return d.fail("has a type that the executor does not know");
  Type wide = type == Type::S16   ? Type::S32
              : type == Type::U16 ? Type::U32
              : type == Type::S32 ? Type::S64
                                  : Type::U64;
  return d.finish(3 + adds) && d.result(0, wide) && d.operands(1, 2, type) &&
         (!adds || d.operand(3, wide));
}

} // namespace

bool fa3::interp::ptx::decodeInteger(Decoder &d, IntegerKind kind) {
  bool multiplies = kind == IntegerKind::Mul || kind == IntegerKind::Mad;
  bool isRelu =
      (kind == IntegerKind::Min || kind == IntegerKind::Max) && d.take("relu");
  int part = multiplies ? d.takeOneOf({"lo", "hi", "wide"}) : -1;
  Type type = d.takeType();
  if (part == 2)
    return decodeWide(d, type, kind == IntegerKind::Mad);
  bool isUnary = kind == IntegerKind::Neg || kind == IntegerKind::Abs;
  return decodePlain(d, choose(kind, type, isRelu, part), type,
                     isUnary                    ? 2
                     : kind == IntegerKind::Mad ? 4
                                                : 3);
}
