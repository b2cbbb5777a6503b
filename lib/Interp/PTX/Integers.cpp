//===- Integers.cpp - integer arithmetic ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Section 9.7.1, "Integer Arithmetic Instructions".
//===----------------------------------------------------------------------===//

#include "Lanes.h"

using namespace fa3::interp;
using namespace fa3::interp::ptx;

namespace {

template <typename T>
struct Wide;
template <>
struct Wide<int16_t> {
  using type = int32_t;
};
template <>
struct Wide<uint16_t> {
  using type = uint32_t;
};
template <>
struct Wide<int32_t> {
  using type = int64_t;
};
template <>
struct Wide<uint32_t> {
  using type = uint64_t;
};
template <>
struct Wide<int64_t> {
  using type = __int128;
};
template <>
struct Wide<uint64_t> {
  using type = unsigned __int128;
};
template <typename T>
using WideOf = typename Wide<T>::type;
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

template <template <typename> class F>
Handler chooseBinary(Type type) {
  switch (type) {
  case Type::S16:
    return runBinary<F<int16_t>, int16_t, int16_t>;
  case Type::U16:
    return runBinary<F<uint16_t>, uint16_t, uint16_t>;
  case Type::S32:
    return runBinary<F<int32_t>, int32_t, int32_t>;
  case Type::U32:
    return runBinary<F<uint32_t>, uint32_t, uint32_t>;
  case Type::S64:
    return runBinary<F<int64_t>, int64_t, int64_t>;
  case Type::U64:
    return runBinary<F<uint64_t>, uint64_t, uint64_t>;
  default:
    return nullptr;
  }
}
template <template <typename> class F>
Handler chooseTernary(Type type) {
  switch (type) {
  case Type::S16:
    return runTernary<F<int16_t>, int16_t, int16_t>;
  case Type::U16:
    return runTernary<F<uint16_t>, uint16_t, uint16_t>;
  case Type::S32:
    return runTernary<F<int32_t>, int32_t, int32_t>;
  case Type::U32:
    return runTernary<F<uint32_t>, uint32_t, uint32_t>;
  case Type::S64:
    return runTernary<F<int64_t>, int64_t, int64_t>;
  case Type::U64:
    return runTernary<F<uint64_t>, uint64_t, uint64_t>;
  default:
    return nullptr;
  }
}
template <template <typename> class F>
Handler chooseSignedUnary(Type type) {
  switch (type) {
  case Type::S16:
    return runUnary<F<int16_t>, int16_t, int16_t>;
  case Type::S32:
    return runUnary<F<int32_t>, int32_t, int32_t>;
  case Type::S64:
    return runUnary<F<int64_t>, int64_t, int64_t>;
  default:
    return nullptr;
  }
}

} // namespace

bool fa3::interp::ptx::decodeInteger(Decoder &d, IntegerKind kind) {
  bool isRelu =
      (kind == IntegerKind::Min || kind == IntegerKind::Max) && d.take("relu");
  int part = -1; // lo, hi, wide
  if (kind == IntegerKind::Mul || kind == IntegerKind::Mad)
    part = d.takeOneOf({"lo", "hi", "wide"});
  Type type = d.takeType();
  Handler &run = d.instr.run;
  size_t numArgs = 3;
  switch (kind) {
  case IntegerKind::Add:
    run = chooseBinary<Add>(type);
    break;
  case IntegerKind::Sub:
    run = chooseBinary<Sub>(type);
    break;
  case IntegerKind::Div:
    run = chooseBinary<Div>(type);
    break;
  case IntegerKind::Rem:
    run = chooseBinary<Rem>(type);
    break;
  case IntegerKind::Min:
    run = isRelu ? chooseBinary<MinRelu>(type) : chooseBinary<Min>(type);
    break;
  case IntegerKind::Max:
    run = isRelu ? chooseBinary<MaxRelu>(type) : chooseBinary<Max>(type);
    break;
  case IntegerKind::Neg:
    run = chooseSignedUnary<Neg>(type);
    numArgs = 2;
    break;
  case IntegerKind::Abs:
    run = chooseSignedUnary<Abs>(type);
    numArgs = 2;
    break;
  case IntegerKind::Mul:
    if (part == 2)
      return decodeWide(d, type, /*adds=*/false);
    run = part == 0   ? chooseBinary<MulLow>(type)
          : part == 1 ? chooseBinary<MulHigh>(type)
                      : nullptr;
    break;
  case IntegerKind::Mad:
    if (part == 2)
      return decodeWide(d, type, /*adds=*/true);
    run = part == 0   ? chooseTernary<MadLow>(type)
          : part == 1 ? chooseTernary<MadHigh>(type)
                      : nullptr;
    numArgs = 4;
    break;
  }
  if (!run)
    return d.fail("has a type that the executor does not know");
  return decodePlain(d, type, numArgs);
}

bool fa3::interp::ptx::decodeWide(Decoder &d, Type type, bool adds) {
  Type wide = Type::None;
  Handler &run = d.instr.run;
  switch (type) {
  case Type::S16:
    wide = Type::S32;
    run = adds ? runTernary<MadWide<int16_t>, int32_t, int16_t, int32_t>
               : runBinary<MulWide<int16_t>, int32_t, int16_t>;
    break;
  case Type::U16:
    wide = Type::U32;
    run = adds ? runTernary<MadWide<uint16_t>, uint32_t, uint16_t, uint32_t>
               : runBinary<MulWide<uint16_t>, uint32_t, uint16_t>;
    break;
  case Type::S32:
    wide = Type::S64;
    run = adds ? runTernary<MadWide<int32_t>, int64_t, int32_t, int64_t>
               : runBinary<MulWide<int32_t>, int64_t, int32_t>;
    break;
  case Type::U32:
    wide = Type::U64;
    run = adds ? runTernary<MadWide<uint32_t>, uint64_t, uint32_t, uint64_t>
               : runBinary<MulWide<uint32_t>, uint64_t, uint32_t>;
    break;
  default:
    return d.fail("has a type that the executor does not know");
  }
  return d.finish(3 + adds) && d.result(0, wide) && d.operand(1, type) &&
         d.operand(2, type) && (!adds || d.operand(3, wide));
}
