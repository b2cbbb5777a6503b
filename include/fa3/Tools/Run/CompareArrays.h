//===- CompareArrays.h - differences of arrays ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TOOLS_RUN_COMPAREARRAYS_H
#define FA3_TOOLS_RUN_COMPAREARRAYS_H

#include "fa3/Interp/Array.h"

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace fa3::run {

/// How far an element may be from the reference: |a - b| <= atol + rtol * |b|.
struct Tolerance {
  double atol = 0, rtol = 0;
};

/// Of lse against its definition, in units of scores: where scores are sums in
/// f32, and where they are products of 8-bit floats, which the tensor core sums
/// with 14 bits of the largest (docs/Interpreter.md).
constexpr Tolerance kLseTolerance{1e-3, 0}, kFloat8LseTolerance{2e-3, 0x1p-10};

/// Differences of an array from a reference of the same shape. Equal infinities
/// and two NaNs agree; an element that only one of them has written does not.
struct Comparison {
  int64_t elements = 0, mismatches = 0;
  /// Elements that neither has written.
  int64_t unwritten = 0;
  /// Over elements that are finite in both; relative to the reference where it
  /// is not zero.
  double maxAbsolute = 0, maxRelative = 0, rootMeanSquare = 0;
  /// The first mismatch in row-major order, with its values.
  llvm::SmallVector<int64_t> index;
  double value = 0, reference = 0;
  bool isWritten = true, isReferenceWritten = true;
};
Comparison compare(const interp::Array &array, const interp::Array &reference,
                   Tolerance tolerance);

/// One line about the contents of an array: sum, range, what is special, and a
/// checksum of the bits in row-major order.
void printSummary(llvm::raw_ostream &os, llvm::StringRef name,
                  const interp::Array &array);

/// All elements, a line per row of the last dimension.
void printElements(llvm::raw_ostream &os, llvm::StringRef name,
                   const interp::Array &array);

} // namespace fa3::run

#endif // FA3_TOOLS_RUN_COMPAREARRAYS_H
