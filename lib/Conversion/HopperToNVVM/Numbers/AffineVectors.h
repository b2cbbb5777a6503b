//===- AffineVectors.h - vectors that hold few values -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Coordinates of the registers of a thread are one base plus constants, and
// what belongs to a row repeats along its columns. Arithmetic on such vectors
// is done on what they repeat.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_HOPPERTONVVM_NUMBERS_AFFINEVECTORS_H
#define FA3_LIB_CONVERSION_HOPPERTONVVM_NUMBERS_AFFINEVECTORS_H

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

namespace fa3 {

/// The value that a vector repeats in all elements, null if it is none.
mlir::Value getSplat(mlir::Value vector);

/// The shuffle of a single vector that gives a value, if it is one.
mlir::vector::ShuffleOp getShuffle(mlir::Value vector);

inline int64_t getSize(mlir::Value vector) {
  return mlir::cast<mlir::VectorType>(vector.getType()).getNumElements();
}

/// Builds arithmetic on vectors that are splats, or rows repeated along
/// columns, on what they repeat.
class NarrowBuilder {
public:
  using Unary = llvm::function_ref<mlir::Value(mlir::Value)>;
  using Function = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;

  NarrowBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::Value splat(mlir::Value scalar, int64_t size);
  mlir::Value constants(llvm::ArrayRef<int32_t> values);
  mlir::Value zero(int64_t size);
  /// function(a) on a vector.
  mlir::Value apply(mlir::Value a, Unary function);
  /// function(a, b) on vectors of one size.
  mlir::Value apply(mlir::Value a, mlir::Value b, Function function);
  /// The vector as i32; `index` is as wide.
  mlir::Value toI32(mlir::Value vector);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// A vector of integers as base + constants; without a base it is constant.
struct Affine {
  mlir::Value base;
  llvm::SmallVector<int64_t> constants;
};

/// Splits vectors of i32 or index. Wrap-around is no concern: coordinates and
/// constants are far from the limits of i32, and differences saturate.
class AffineSplitter {
public:
  AffineSplitter(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc), narrow(builder, loc) {}

  Affine split(mlir::Value value, unsigned depth = 0);

private:
  Affine opaque(mlir::Value value) {
    return {narrow.toI32(value), llvm::SmallVector<int64_t>(getSize(value), 0)};
  }
  Affine combine(mlir::Value lhs, mlir::Value rhs, int64_t sign,
                 unsigned depth);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  NarrowBuilder narrow;
};

} // namespace fa3

#endif // FA3_LIB_CONVERSION_HOPPERTONVVM_NUMBERS_AFFINEVECTORS_H
