//===- FormLimits.h - how large the numbers of a form may be ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef FA3_LIB_DIALECT_TILE_ANALYSIS_FORMLIMITS_H
#define FA3_LIB_DIALECT_TILE_ANALYSIS_FORMLIMITS_H

#include "fa3/Dialect/Tile/Analysis/AffineForm.h"
#include "llvm/ADT/STLExtras.h"

namespace fa3::tile {

/// Greatest magnitude of constants and coefficients: products of two of them
/// and sums of many stay within 64 bits. Index values have 32 bits in the end.
inline constexpr int64_t kLargestNumber = int64_t(1) << 30;

inline bool isSmall(int64_t value) {
  return -kLargestNumber <= value && value <= kLargestNumber;
}

inline bool isSmall(const AffineForm &form) {
  return isSmall(form.constant) && llvm::all_of(form.terms, [](auto term) {
           return isSmall(term.second);
         });
}

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_ANALYSIS_FORMLIMITS_H
