//===- Moves.h - elements that lie elsewhere --------------------*- C++ -*-===//
//
// Slices, gathers, concatenations, differences of neighbors and running sums:
// operations whose elements are those of other tensors at positions that can be
// computed.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_CONVERTTOATTENTION_MOVES_H
#define FA3_LIB_CONVERSION_CONVERTTOATTENTION_MOVES_H

#include "PointBuilder.h"

namespace fa3::convert {

/// The element of such an operation; null without a problem for others, and
/// where the code would be more than a load of the result: positions that are
/// read from memory, or sums of what differs from place to place.
mlir::Value computeMoved(PointBuilder &point, const State &state);

} // namespace fa3::convert

#endif // FA3_LIB_CONVERSION_CONVERTTOATTENTION_MOVES_H
