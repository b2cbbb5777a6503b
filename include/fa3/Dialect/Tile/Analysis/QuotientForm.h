//===- QuotientForm.h - sums of coordinates and quotients -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads index tiles whose elements are sums of coordinates, scalars and
// quotients of such sums by constants, as the index arithmetic of masks by
// chunk, by pixel or by block has them.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_TILE_ANALYSIS_QUOTIENTFORM_H
#define FA3_DIALECT_TILE_ANALYSIS_QUOTIENTFORM_H

#include "fa3/Dialect/Tile/Analysis/AffineForm.h"

namespace fa3::tile {

/// rest + sum of coefficient * floor(numerator / divisor), element by element.
struct QuotientForm {
  struct Quotient {
    int64_t coefficient;
    TileForm numerator;
    int64_t divisor; ///< positive
  };
  TileForm rest;
  llvm::SmallVector<Quotient, 2> quotients;

  /// Adds factor * other; false, and nothing of use, if numbers get too large.
  bool add(const QuotientForm &other, int64_t factor);

  /// Replaces the inequality form >= 0 by one that holds for the same elements
  /// and has no quotient `quotient`: the numerator in its place. If what is
  /// beside the quotient is not fixed, or its coefficient not 1 or -1, by one
  /// over more elements, of which the least and greatest value enclose those
  /// of a positive multiple of the form. False, and nothing of use, if numbers
  /// might not fit an index.
  bool solveFor(Quotient *quotient,
                llvm::function_ref<bool(const AffineForm &)> isFixed);
};

/// The form of an index tile; nothing for other tiles. Divisions that round
/// towards 0 are read where the dividend is at least 0 for certain.
std::optional<QuotientForm> getQuotientForm(mlir::Value value);

} // namespace fa3::tile

#endif // FA3_DIALECT_TILE_ANALYSIS_QUOTIENTFORM_H
