//===- ShortForm.h - functions of small arguments ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Cheaper forms of functions on a range that a vote proves. An operation that
// has one becomes two ways to compute a step (hopper-shorten-functions), which
// estimates of registers cannot see: they ask here.
//===----------------------------------------------------------------------===//

#ifndef FA3_SUPPORT_SHORTFORM_H
#define FA3_SUPPORT_SHORTFORM_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace mlir {
class Operation;
} // namespace mlir

namespace fa3 {

/// f(z) = z (linear + cubic z^2) for |z| up to mostArgument. f is odd and
/// grows, and |f(z)| is |z| at most: what no |z| exceeds, no f(z) does.
struct ShortForm {
  llvm::StringLiteral function; ///< name of the operation
  double mostArgument, linear, cubic;
  /// Loops of fewer iterations gain little by it, and ptxas may unroll them and
  /// spill.
  uint64_t leastIterations;
};

/// The form of what an operation computes, null for none.
const ShortForm *findShortForm(mlir::Operation *op);

/// Whether a function of tiles is computed in `op` that becomes two ways.
bool becomesTwoWays(mlir::Operation *op);

} // namespace fa3

#endif // FA3_SUPPORT_SHORTFORM_H
