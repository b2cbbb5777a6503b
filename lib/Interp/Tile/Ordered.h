//===- Ordered.h - additions in one order -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_INTERP_TILE_ORDERED_H
#define FA3_LIB_INTERP_TILE_ORDERED_H

#include "../Core/Context.h"
#include "../Core/Decoder.h"

namespace fa3::interp {

/// The element of the tile in front, or so many tiles further.
using ProgressPlace =
    llvm::function_ref<mlir::FailureOr<uint8_t *>(int64_t back)>;

/// An error where the tiles in front have not come to `least`: of those that
/// have ended the next one is asked.
mlir::LogicalResult checkProgress(const Context &c, mlir::Operation *op,
                                  ProgressPlace locate, int64_t least);
/// How far a tile is, by the element of its progress.
int32_t readProgress(const uint8_t *place);
/// Writes a position, which must not fall.
mlir::LogicalResult raiseProgress(const Context &c, mlir::Operation *op,
                                  uint8_t *place, int64_t position);

void populateOrdered(Registry &registry);

} // namespace fa3::interp

#endif // FA3_LIB_INTERP_TILE_ORDERED_H
