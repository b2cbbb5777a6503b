//===- ProgressOps.h - additions in one order -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The operations of HopperProgressOps.td.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_HOPPER_IR_PROGRESSOPS_H
#define FA3_DIALECT_HOPPER_IR_PROGRESSOPS_H

#include "fa3/Dialect/Hopper/IR/Hopper.h"

#include <limits>

namespace fa3::hopper {

/// The position of an end: behind all others, and not the greatest i32, which
/// stands in front of the first tile.
inline constexpr int32_t kEndOfProgress =
    std::numeric_limits<int32_t>::max() - 1;

} // namespace fa3::hopper

#define GET_OP_CLASSES
#include "fa3/Dialect/Hopper/IR/HopperProgressOps.h.inc"

#endif // FA3_DIALECT_HOPPER_IR_PROGRESSOPS_H
