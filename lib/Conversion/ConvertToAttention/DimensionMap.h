//===- DimensionMap.h - operations that move no number ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_CONVERTTOATTENTION_DIMENSIONMAP_H
#define FA3_LIB_CONVERSION_CONVERTTOATTENTION_DIMENSIONMAP_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace fa3::convert {

/// How the dimensions of a tensor come from those of another.
struct DimensionMap {
  mlir::Value source;
  /// For every dimension the source's that it is; -1 for one that the source
  /// does not have. Dimensions of the source that are nowhere have extent 1.
  llvm::SmallVector<int64_t> from;
  /// For every dimension those of the source that were collapsed into it; used
  /// instead of `from` if there are any.
  llvm::SmallVector<llvm::SmallVector<int64_t>> groups;
  /// The same for dimensions of the source that were expanded.
  llvm::SmallVector<llvm::SmallVector<int64_t>> expanded;
};

/// What an operation does if it is a view. Its numbers fit the ranks.
std::optional<DimensionMap> getView(mlir::Operation *op);

/// `number` counted from the end if it is below 0; nothing if out of range.
std::optional<int64_t> wrap(std::optional<int64_t> number, int64_t rank);

/// Whether `numbers` are those below `rank`, in any order.
bool isPermutation(llvm::ArrayRef<int64_t> numbers, int64_t rank);

} // namespace fa3::convert

#endif // FA3_LIB_CONVERSION_CONVERTTOATTENTION_DIMENSIONMAP_H
