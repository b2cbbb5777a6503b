//===- Problem.h - a host function with sizes and data ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What is run, apart from where: names, shapes and contents of the arguments of
// a host function. Executors (the interpreter, a device) take its arguments.
//===----------------------------------------------------------------------===//

#ifndef FA3_TOOLS_RUN_PROBLEM_H
#define FA3_TOOLS_RUN_PROBLEM_H

#include "fa3/Interp/Interpreter.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/StringMap.h"
#include <string>

namespace mlir {
class FunctionOpInterface;
class ModuleOp;
} // namespace mlir

namespace fa3::run {

/// Random numbers of inputs.
enum class Distribution {
  Normal,  ///< N(0, 1)
  Uniform, ///< uniform in [-1, 1)
  Outlier, ///< N(0, 1) + N(0, 100) * Bernoulli(0.001) (arXiv 2407.08608, 4.3)
  /// N(0, 1), but the first element of a row of `q` is 4, and those of `k` fall
  /// by 0.4 from row to row of its longest dimension before the last: running
  /// maxima of kernels that walk from the last key to the first grow by 2^9 in
  /// 64 keys (d 256) to 2^18 (d 64).
  Growing,
  /// The same, and all scores are far below zero, so that running maxima are
  /// negative.
  Negative,
};

/// Which pages a table holds, of those that there are.
enum class PageOrder {
  Identity, ///< 0, 1, 2, ..
  Reversed, ///< from the last one on
  Random,   ///< each at most once, as long as there are any
  Shared,   ///< any, so that some are there several times
  Wild,     ///< as shared, and numbers that are no page's
};

/// What a user says about a problem.
struct ProblemOptions {
  llvm::StringMap<int64_t> dims;
  llvm::StringMap<double> scalars;
  /// Files that arrays are read from, or numbers they are filled with.
  llvm::StringMap<std::string> inputs;
  llvm::StringMap<double> fills;
  /// Lengths of sequences: an array of integers with as many elements takes
  /// them, one with one element more where they start, one behind the other,
  /// and where the last one ends.
  llvm::StringMap<llvm::SmallVector<int64_t>> lengths;
  /// Orders of the pages in a page table.
  llvm::StringMap<PageOrder> pages;
  /// Order of the dimensions in memory, from the outermost to the innermost.
  llvm::StringMap<llvm::SmallVector<unsigned>> orders;
  /// Elements behind each row: what the innermost dimension in memory holds.
  llvm::StringMap<int64_t> paddings;
  Distribution distribution = Distribution::Normal;
  uint64_t seed = 0;
};

struct ProblemArgument {
  std::string name;
  mlir::Type type;
  interp::Access access;
  interp::Argument value;
  /// What an array that is read and written held before a run, if that is kept.
  std::optional<interp::Array> initial;

  interp::Array *getArray() { return std::get_if<interp::Array>(&value); }
  const interp::Array *getArray() const {
    return std::get_if<interp::Array>(&value);
  }
};

class Problem {
public:
  /// Names the arguments of a function, decides their shapes and fills them.
  /// Inputs depend on seed and name only. What is written and not read is
  /// poisoned. Reports errors at the function. `accesses` is given for a
  /// function whose body does not tell.
  static mlir::FailureOr<Problem>
  create(mlir::FunctionOpInterface function, const ProblemOptions &options,
         llvm::ArrayRef<interp::Access> accesses = {});

  /// The same problem for a function of another module of the same context,
  /// with arguments of the same names and of types that fit: equal inputs,
  /// memory of its own. Access is that of both functions together.
  mlir::FailureOr<Problem> cloneFor(mlir::FunctionOpInterface function) const;

  llvm::MutableArrayRef<ProblemArgument> getArguments() { return arguments; }
  llvm::ArrayRef<ProblemArgument> getArguments() const { return arguments; }
  ProblemArgument *find(llvm::StringRef name);
  /// Keeps what arrays that are read and written hold now.
  void keepInitial();

  /// The values to call the function with.
  llvm::SmallVector<interp::Argument> getValues() const;

private:
  llvm::SmallVector<ProblemArgument, 0> arguments;
};

/// The function named, or the only one that launches a kernel, or the only one
/// there is. Null after an error.
mlir::FunctionOpInterface findHostFunction(mlir::ModuleOp module,
                                           llvm::StringRef name);

/// Fills an array with random numbers that depend on seed and name only.
void fillRandom(const interp::Array &array, Distribution distribution,
                uint64_t seed, llvm::StringRef name);

} // namespace fa3::run

#endif // FA3_TOOLS_RUN_PROBLEM_H
