//===- TileAccess.h - where a thread's elements are -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_HOPPERTONVVM_MEMORY_TILEACCESS_H
#define FA3_LIB_CONVERSION_HOPPERTONVVM_MEMORY_TILEACCESS_H

#include "../KernelInfo.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace fa3 {

/// Bits of an element in memory: a truth value is a byte, as PyTorch's.
int64_t getStorageBits(mlir::Type element);

/// Addresses and predicates of the elements a thread holds of a tile.
class TileAccess {
public:
  TileAccess(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer,
             mlir::Type element);

  /// Adds one index that is not of the tile.
  void addIndex(mlir::Value index, mlir::Value stride) {
    base = add(base, getBytes(index, stride));
  }
  /// Adds a dimension of the tile; `start` is the coordinate of register 0.
  /// Nothing is asked where all of the tile is inside.
  void addDimension(mlir::Value start, mlir::Value stride, mlir::Value bound,
                    bool isInside);

  /// Adds a condition of all elements: that an index of the tile is within
  /// bounds.
  void addCondition(mlir::Value index, mlir::Value bound);

  /// Address (i64) of the element at the given offsets from register 0, without
  /// the bytes in `immediate`.
  mlir::Value getAddress(llvm::ArrayRef<int64_t> offsets, int64_t &immediate);
  /// Whether the element is within bounds, and `owner` if given.
  mlir::Value getPredicate(llvm::ArrayRef<int64_t> offsets, mlir::Value owner);
  /// Whether elements (2i, 2i + 1) along the last dimension may be accessed
  /// together: adjacent, aligned, and in or out of bounds as a pair.
  /// `indexDivisor` divides the first coordinate, `strideDivisor` the strides
  /// of all other dimensions.
  bool canPair(int64_t indexDivisor, int64_t strideDivisor) const;
  /// The same, as far as pointer and strides do not say otherwise.
  bool mayPair(int64_t indexDivisor) const;
  /// Whether so many bytes divide the pointer and all strides but the last.
  mlir::Value buildAligned(mlir::ValueRange strides, int64_t unit);

  int64_t getElementBytes() const { return bytes; }
  /// Whether all columns of the tile are inside of the array, side by side.
  bool hasWholeRows() const {
    return dims.back().isInside && getConstant(dims.back().stride) == 1;
  }

private:
  struct Dimension {
    mlir::Value start, stride, limit;
    int64_t boundDivisor;
    bool isInside;
    llvm::MapVector<int64_t, mlir::Value> terms, inBounds;
  };

  mlir::Value add(mlir::Value a, mlir::Value b);
  /// index (i32) * stride (i64) in bytes.
  mlir::Value getBytes(mlir::Value index, mlir::Value stride);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  IntegerBuilder ints;
  mlir::Value pointer, base, condition;
  int64_t bytes;
  llvm::SmallVector<Dimension, 2> dims;
  std::map<llvm::SmallVector<int64_t, 2>, mlir::Value> addresses, predicates;
};

} // namespace fa3

#endif // FA3_LIB_CONVERSION_HOPPERTONVVM_MEMORY_TILEACCESS_H
