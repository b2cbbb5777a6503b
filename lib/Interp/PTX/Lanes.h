//===- Lanes.h - arithmetic over the lanes of a warp ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_INTERP_PTX_LANES_H
#define FA3_LIB_INTERP_PTX_LANES_H

#include "Decode.h"
#include <cmath>

namespace fa3::interp::ptx {

/// One value per lane of up to three others: `F::apply`.
template <typename F, typename R, typename T>
Step runUnary(Warp &w, const Instr &in, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) {
    set<R>(w, in.out(), lane, F::apply(get<T>(w, in.in(0), lane)));
  });
  return Step::Next;
}
template <typename F, typename R, typename T>
Step runBinary(Warp &w, const Instr &in, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) {
    set<R>(w, in.out(), lane,
           F::apply(get<T>(w, in.in(0), lane), get<T>(w, in.in(1), lane)));
  });
  return Step::Next;
}
template <typename F, typename R, typename T, typename C = T>
Step runTernary(Warp &w, const Instr &in, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) {
    set<R>(w, in.out(), lane,
           F::apply(get<T>(w, in.in(0), lane), get<T>(w, in.in(1), lane),
                    get<C>(w, in.in(2), lane)));
  });
  return Step::Next;
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

/// Adds the operands of an instruction with one type: `results` and what is
/// read.
inline bool decodePlain(Decoder &d, Type type, size_t numArgs) {
  if (!d.finish(numArgs) || !d.result(0, type))
    return false;
  for (size_t i = 1; i < numArgs; ++i)
    if (!d.operand(i, type))
      return false;
  return true;
}

} // namespace fa3::interp::ptx

#endif // FA3_LIB_INTERP_PTX_LANES_H
