//===- CheckEachPass.h - the answer of a module after every pass -*- C++ -*-==//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_TOOLS_RUN_CHECKEACHPASS_H
#define FA3_LIB_TOOLS_RUN_CHECKEACHPASS_H

#include "fa3/Pipelines/Pipelines.h"
#include "fa3/Tools/Run/CompareArrays.h"
#include "fa3/Tools/Run/Problem.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/CommandLine.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace fa3::run {

/// Command-line options of what goes beyond one run.
struct CheckOptions {
  llvm::cl::opt<std::string> eachPass{
      "check-each-pass", llvm::cl::ValueOptional,
      llvm::cl::desc(
          "Runs the pipeline that lowers attention, or tile kernels, "
          "and the module after each pass; fails at the first that "
          "changes the answer"),
      llvm::cl::value_desc("pipeline options")};
  llvm::cl::opt<bool> text{
      "check-ptx",
      llvm::cl::desc("Lets --check-each-pass end with the PTX of the module, "
                     "executed on the CPU")};
  llvm::cl::opt<std::string> errorBudget{
      "error-budget", llvm::cl::ValueOptional,
      llvm::cl::desc("Runs attention by definition and its kernels on the CPU "
                     "and prints how much the rounding of inputs, weights and "
                     "sums adds to the error"),
      llvm::cl::value_desc("pipeline options")};
  llvm::cl::opt<bool> verbose{
      "v", llvm::cl::desc("Prints a table of the passes and their times")};
  llvm::cl::opt<int64_t> explore{
      "explore",
      llvm::cl::desc("Goes through all schedules of hopper kernels, up to N "
                     "states per block, and runs the earliest, latest and some "
                     "random completions; all have to give the same"),
      llvm::cl::value_desc("N"), llvm::cl::init(0)};
};

/// Runs `function` in every way that --explore asks for and compares with the
/// arrays of `problem`, which hold the answer of a run.
mlir::LogicalResult exploreSchedules(mlir::FunctionOpInterface function,
                                     const Problem &inputs,
                                     const Problem &answer,
                                     interp::Options execution,
                                     int64_t numStates, bool verbose);

/// What decides the answer of a module.
struct CheckedProblem {
  std::string function;
  ProblemOptions options;
  interp::Options execution;
  /// Distance from the reference that rounding explains; without it, what
  /// follows from the element types (see getRoundingTolerance).
  std::optional<Tolerance> tolerance;
  /// Whether the PTX is run as well.
  bool withText = false;
};

/// Runs `module` pass by pass through the whole pipeline, which changes it. The
/// answer after every pass has to be that after the pass before, bit for bit;
/// that of the first stage that can be run, and of passes that reorder sums or
/// approximate, only up to the tolerance.
mlir::LogicalResult checkEachPass(mlir::ModuleOp module,
                                  const PipelineOptions &pipeline,
                                  const CheckedProblem &problem, bool verbose);

/// What passes do to numbers beside the rounding that their formats ask for.
struct NumericChanges {
  /// The format that operands are rounded to on the way, if they are.
  std::optional<interp::Format> quantized;
  /// Scores are approximated, with errors of 1e-5 of their cap
  /// (Approximates).
  bool approximates = false;
  /// An operand is rounded once more to its type (RoundsOperands).
  bool rounds = false;
};

/// Difference that rounding explains between an array and its reference, both
/// computed from numbers of the given formats of order 1.
Tolerance getRoundingTolerance(const interp::Array &array,
                               const Problem &problem,
                               const NumericChanges &changes);

} // namespace fa3::run

#endif // FA3_LIB_TOOLS_RUN_CHECKEACHPASS_H
