//===- RowOrder.h - rows that bulk copies bring in an order -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_TILETOHOPPER_ROWORDER_H
#define FA3_LIB_CONVERSION_TILETOHOPPER_ROWORDER_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace fa3 {

/// Copies that together bring `rows` rows in an order in which bit i of the new
/// place is bit bits[i] of the old one. A copy walks a box; the array's rows
/// are split into blocks, and these into dimensions along which the box goes
/// several rows at a time.
struct RowOrder {
  /// Extents within a block of rows, outermost first; empty if one copy of
  /// neighboring rows does.
  llvm::SmallVector<int64_t, 2> split;
  /// Extents of the box along the blocks and within, outermost first.
  llvm::SmallVector<int64_t, 3> box;
  /// Where the rows of a copy come from, relative to the first of all, in the
  /// order of their places; each has as many rows as the box.
  llvm::SmallVector<int64_t> firstRows;

  int64_t getBlockRows() const;
  int64_t getBoxRows() const;
  /// Coordinates within the block of a row at which a copy starts.
  llvm::SmallVector<int64_t, 2> getInner(int64_t row) const;
};

/// The fewest copies whose boxes have at most `dims` dimensions for rows; none
/// if each would be narrower than the 8 rows that shared memory is swizzled by.
std::optional<RowOrder> planRowOrder(llvm::ArrayRef<int64_t> bits, int64_t rows,
                                     int64_t dims);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_TILETOHOPPER_ROWORDER_H
