//===- CheckResult.h - what was computed against a reference ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TOOLS_RUN_CHECKRESULT_H
#define FA3_TOOLS_RUN_CHECKRESULT_H

#include "fa3/Reference/Reference.h"
#include "fa3/Tools/Run/CompareArrays.h"
#include "fa3/Tools/Run/Problem.h"

namespace fa3::run {

/// What is said about one array that was written.
struct CheckResult {
  std::string name;
  double error = 0; ///< largest absolute difference
  double bound = 0; ///< what is allowed
  int64_t elements = 0, wrong = 0;
  /// The first wrong element, in words; empty if all are right.
  std::string complaint;
  /// All that is known of the comparison with another run.
  std::optional<Comparison> comparison;
};

/// Compares the outputs of attention with the definition, computed on the CPU
/// in f64: o or gradients within the bound of getErrorBound, in f32 2^-20 of
/// the largest more, lse within kLseTolerance or, of 8-bit floats,
/// kFloat8LseTolerance with the largest in place of each, both exactly where no
/// key is visible, and what is read and written, as a cache, bit for bit.
/// `function` is a function on tensors of `module`, `problem`
/// one of its host function. With a sample only its heads are looked at. Of a
/// function that only quantizes, scales are compared up to rounding and 8-bit
/// numbers up to one step of their format.
mlir::FailureOr<llvm::SmallVector<CheckResult>>
checkAttention(mlir::ModuleOp module, llvm::StringRef function,
               const Problem &problem, const ReferenceSample &sample);

/// Runs the definition in place of a kernel.
mlir::LogicalResult runAttention(mlir::ModuleOp module,
                                 llvm::StringRef function,
                                 const Problem &problem);

/// Of a function with attention.backward: gives o and lse what the forward of
/// the same inputs makes, by definition, unless the user has said what they
/// are. Others stay as they are.
mlir::LogicalResult fillForwardResults(mlir::ModuleOp module,
                                       llvm::StringRef function,
                                       const ProblemOptions &options,
                                       Problem &problem);

/// Compares everything written by `reference`, another run with the same
/// inputs. Without a tolerance, floats may differ by twice the spacing of
/// numbers at the largest value of the array.
llvm::SmallVector<CheckResult> checkAgainst(const Problem &problem,
                                            const Problem &reference,
                                            std::optional<Tolerance> tolerance);

} // namespace fa3::run

#endif // FA3_TOOLS_RUN_CHECKRESULT_H
