//===- GridNumbering.h - from numbers of tiles to the grid ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_GRIDNUMBERING_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_GRIDNUMBERING_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa3::tile {

/// The product of one value or more.
mlir::Value product(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange values);

/// Grid indices of tile number `id`, in the given order of speed (fastest
/// first).
llvm::SmallVector<mlir::Value> decode(mlir::ImplicitLocOpBuilder &b,
                                      mlir::Value id, mlir::ValueRange bounds,
                                      llvm::ArrayRef<unsigned> order);

/// Position in the grid of tile number `id` if the outer indices are cut into
/// sections: the first index runs slowest within a section. Section i has the
/// outer indices from floor(i * outer / sections).
llvm::SmallVector<mlir::Value> decodeSections(mlir::ImplicitLocOpBuilder &b,
                                              mlir::Value id,
                                              mlir::ValueRange bounds,
                                              mlir::Value sections);

/// Position in the grid of tile number `id` if all full tiles come before the
/// shorter ones; among either, the first index runs fastest.
llvm::SmallVector<mlir::Value>
decodePartition(mlir::ImplicitLocOpBuilder &b, mlir::Value id,
                mlir::ValueRange bounds, int64_t numFull, int64_t numShort);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_SEQUENTIAL_GRIDNUMBERING_H
