//===- HopperExactOps.h - sums of integers in memory ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The operations of HopperExactOps.td.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_HOPPER_IR_HOPPEREXACTOPS_H
#define FA3_DIALECT_HOPPER_IR_HOPPEREXACTOPS_H

#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Support/ExactSum.h"

#define GET_OP_CLASSES
#include "fa3/Dialect/Hopper/IR/HopperExactOps.h.inc"

#endif // FA3_DIALECT_HOPPER_IR_HOPPEREXACTOPS_H
