//===- Comparisons.h - comparisons of minima and maxima ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_COMPARISONS_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_COMPARISONS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fa3::tile {

/// Takes comparisons of minima, maxima and absolute values of index tiles
/// apart into comparisons of their operands: max(x, y) <= z holds where both x
/// and y are at most z. Gives their number.
unsigned splitComparisons(mlir::gpu::GPUFuncOp kernel);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_COMPARISONS_H
