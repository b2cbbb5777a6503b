//===- HostTensor.h - arrays in host memory ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A strided array of f16, bf16 or f32 elements that is read and written as
// float: inputs and outputs of references, simulations and kernels.
//===----------------------------------------------------------------------===//

#ifndef FA3_REFERENCE_HOSTTENSOR_H
#define FA3_REFERENCE_HOSTTENSOR_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace fa3 {

class HostTensor {
public:
  /// An array of zeros in row-major order.
  HostTensor(mlir::FloatType elementType, llvm::ArrayRef<int64_t> shape);
  /// An array of zeros with the given strides in elements, which must not be
  /// negative; 0 repeats a dimension.
  HostTensor(mlir::FloatType elementType, llvm::ArrayRef<int64_t> shape,
             llvm::ArrayRef<int64_t> strides);

  /// Whether arrays of this element type can be made: f16, bf16, f32.
  static bool supports(mlir::Type elementType);

  mlir::FloatType getElementType() const { return elementType; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  llvm::ArrayRef<int64_t> getStrides() const { return strides; }
  int64_t getNumElements() const;
  void *getData() { return storage.data(); }
  const void *getData() const { return storage.data(); }
  /// Bytes that back the array, gaps between strides included.
  size_t getNumBytes() const { return storage.size(); }

  /// Element at `indices`; written values are rounded to nearest even.
  float get(llvm::ArrayRef<int64_t> indices) const;
  void set(llvm::ArrayRef<int64_t> indices, float value);

  /// All elements in row-major order of the indices.
  std::vector<float> getValues() const;
  void setValues(llvm::ArrayRef<float> values);

  /// Fills with numbers of the standard normal distribution times `deviation`;
  /// the same seed gives the same numbers everywhere.
  void fillNormal(uint64_t seed, float deviation = 1);

private:
  int64_t getOffset(llvm::ArrayRef<int64_t> indices) const;
  void store(int64_t offset, float value);
  float load(int64_t offset) const;

  mlir::FloatType elementType;
  llvm::SmallVector<int64_t, 4> shape, strides;
  std::vector<char> storage;
};

/// `value` rounded to nearest even in `elementType` (f16, bf16 or f32).
float roundTo(mlir::FloatType elementType, float value);

} // namespace fa3

#endif // FA3_REFERENCE_HOSTTENSOR_H
