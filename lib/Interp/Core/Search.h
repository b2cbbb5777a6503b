//===- Search.h - numbers below a line --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_INTERP_CORE_SEARCH_H
#define FA3_LIB_INTERP_CORE_SEARCH_H

#include "llvm/Support/MathExtras.h"

namespace fa3::interp {

/// The result of `tile.search` among `count` elements, of which `isBelow(i)`
/// says whether they are below the line: as many as lanes of a warp are looked
/// at first, then what is between two of them.
template <typename IsBelow>
int64_t search(int64_t count, IsBelow &&isBelow) {
  constexpr int64_t kLanes = 32;
  int64_t stride = llvm::divideCeil(count, kLanes), front = 0;
  for (int64_t lane = 0; lane < kLanes && lane * stride < count; ++lane)
    front += isBelow(lane * stride);
  if (front == 0)
    return 0;
  int64_t base = (front - 1) * stride, result = base + 1;
  for (int64_t i = base + 1; i < base + stride && i < count; ++i)
    result += isBelow(i);
  return result;
}

} // namespace fa3::interp

#endif // FA3_LIB_INTERP_CORE_SEARCH_H
