//===- Lanes.h - arithmetic over the lanes of a warp ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_INTERP_PTX_LANES_H
#define FA3_LIB_INTERP_PTX_LANES_H

#include "Decode.h"
#include <cmath>

namespace fa3::interp::ptx {

/// One value per lane of `n` others, up to three: `F::apply`.
template <typename F, unsigned n, typename R, typename T = R, typename C = T>
Step runEach(Warp &w, const Instr &in, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) {
    T a = get<T>(w, in.in(0), lane);
    if constexpr (n == 1)
      set<R>(w, in.out(), lane, F::apply(a));
    else if constexpr (n == 2)
      set<R>(w, in.out(), lane, F::apply(a, get<T>(w, in.in(1), lane)));
    else
      set<R>(w, in.out(), lane,
             F::apply(a, get<T>(w, in.in(1), lane), get<C>(w, in.in(2), lane)));
  });
  return Step::Next;
}

/// What a function makes of a number of the integer type; null of others.
template <typename Choose>
Handler forInteger(Type type, Choose &&choose) {
  switch (type) {
  case Type::S16:
    return choose(int16_t());
  case Type::U16:
    return choose(uint16_t());
  case Type::S32:
    return choose(int32_t());
  case Type::U32:
    return choose(uint32_t());
  case Type::S64:
    return choose(int64_t());
  case Type::U64:
    return choose(uint64_t());
  default:
    return nullptr;
  }
}
/// The same by the width of any type, without sign.
template <typename Choose>
Handler forWidth(Type type, Choose &&choose) {
  switch (getBits(type)) {
  case 16:
    return choose(uint16_t());
  case 32:
    return choose(uint32_t());
  case 64:
    return choose(uint64_t());
  default:
    return nullptr;
  }
}

/// Subnormal numbers become zeros of their sign.
inline float flush(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value)
                                                : value;
}

/// The result of all operations that are not a number (section 9.7.3).
inline float canonical(float value) {
  uint32_t bits = 0x7fffffff;
  float nan;
  std::memcpy(&nan, &bits, sizeof(nan));
  return std::isnan(value) ? nan : value;
}

/// Adds the operands of an instruction with one type, the result first, unless
/// there is no handler for it.
inline bool decodePlain(Decoder &d, Handler run, Type type, size_t numArgs) {
  d.instr.run = run;
  if (!run)
    return d.fail("has a type that the executor does not know");
  if (!d.finish(numArgs) || !d.result(0, type))
    return false;
  for (size_t i = 1; i < numArgs; ++i)
    if (!d.operand(i, type))
      return false;
  return true;
}

} // namespace fa3::interp::ptx

#endif // FA3_LIB_INTERP_PTX_LANES_H
