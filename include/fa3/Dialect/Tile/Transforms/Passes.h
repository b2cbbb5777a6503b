//===- Passes.h - passes on the tile dialect --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_DIALECT_TILE_TRANSFORMS_PASSES_H
#define FA3_DIALECT_TILE_TRANSFORMS_PASSES_H

#include "fa3/Machine/Chip.h"
#include "fa3/Options/Options.h"
#include "mlir/Pass/Pass.h"

namespace fa3::tile {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"

} // namespace fa3::tile

#endif // FA3_DIALECT_TILE_TRANSFORMS_PASSES_H
