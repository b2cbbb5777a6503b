//===- TileExactOps.h - sums of integers in memory --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The operations of TileExactOps.td.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_TILE_IR_TILEEXACTOPS_H
#define FA3_DIALECT_TILE_IR_TILEEXACTOPS_H

#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Support/ExactSum.h"

#define GET_OP_CLASSES
#include "fa3/Dialect/Tile/IR/TileExactOps.h.inc"

#endif // FA3_DIALECT_TILE_IR_TILEEXACTOPS_H
