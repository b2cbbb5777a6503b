//===- TileSlices.h - slices of what a tile reads ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_PARTS_TILESLICES_H
#define FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_PARTS_TILESLICES_H

#include "mlir/IR/Builders.h"

namespace fa3::attention {

/// Whether a part of a dimension is all of it, as getIterationDomain says it.
bool isWhole(mlir::OpFoldResult offset, mlir::OpFoldResult size,
             mlir::Value tensor, int64_t axis);

/// Offset and size in a dimension.
struct TilePart {
  int64_t axis;
  mlir::OpFoldResult offset, size;
};
/// A part of a tensor, whole in dimensions that are not named. Adds what it
/// makes to `slices`.
mlir::Value takeSlice(mlir::OpBuilder &b, mlir::Location loc,
                      mlir::Value tensor, llvm::ArrayRef<TilePart> parts,
                      llvm::SmallVectorImpl<mlir::Operation *> &slices);

/// Gives attention.merge its TilingInterface.
void attachMergeTiling(mlir::MLIRContext &context);

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_PARTS_TILESLICES_H
