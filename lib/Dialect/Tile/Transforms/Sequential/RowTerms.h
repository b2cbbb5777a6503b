//===- RowTerms.h - terms that a whole row of a tile has --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_ROWTERMS_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_ROWTERMS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fa3::tile {

/// Takes terms that all elements of a row share out of element code that ends
/// in maxima of rows and in products with factors of rows, where they cost an
/// operation per row: part of tile-strength-reduce. How many it found.
unsigned takeOutRowTerms(mlir::gpu::GPUFuncOp kernel);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_ROWTERMS_H
