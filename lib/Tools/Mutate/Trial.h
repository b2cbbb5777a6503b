//===- Trial.h - what happens to a mutated kernel ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_TOOLS_MUTATE_TRIAL_H
#define FA3_LIB_TOOLS_MUTATE_TRIAL_H

#include "fa3/Pipelines/Pipelines.h"
#include "fa3/Tools/Mutate/Mutate.h"
#include "fa3/Tools/Run/Problem.h"
#include "mlir/IR/OwningOpRef.h"

namespace fa3::mutate {

/// A kernel of the sample, with small problems. Only together they reach all of
/// its code.
struct Case {
  std::string name, file, pipeline;
  std::vector<run::ProblemOptions> problems;
  /// Numbers of those whose schedules are too many to see all. They are run in
  /// a few; the others have every schedule explored.
  std::vector<int64_t> unexplored;
  int64_t sms = 3;
  /// The file has groups already: only what comes after pipelining is run.
  bool isSpecialized = false;
};

/// How a mutant ends, in the order in which it is looked for.
enum class Outcome {
  Verifier, ///< the module is not valid
  Checker,  ///< a static checker, or a pass of the lowering, refuses it
  Run,      ///< an error or a deadlock in the interpreter
  Answer,   ///< another answer
  Explored, ///< an error in some schedule that was not run
  Harmless, ///< the same answer in every schedule
  Missed,   ///< nothing found, and not every schedule was seen or no problem
            ///< reaches the place
};
constexpr unsigned kNumOutcomes = 7;

/// The stages of one case, and the answer of the kernel without mutation.
class Trial {
public:
  /// Reads and lowers the kernel. Fails after a diagnostic if the kernel
  /// without mutation is not accepted everywhere.
  static mlir::FailureOr<std::unique_ptr<Trial>>
  create(mlir::MLIRContext &context, const Case &testCase, int64_t numStates,
         bool useCheckers);

  /// What the static checkers say against the kernel without mutation. A
  /// checker that does is not asked about mutants.
  llvm::ArrayRef<std::string> getFalseAlarms() const { return falseAlarms; }

  int64_t countTilePlaces(const MutantKind &kind) const;
  int64_t countHopperPlaces(const MutantKind &kind) const;

  /// Makes a mutant and looks for it. `message` says how it was found.
  Outcome tryTileMutant(const MutantKind &kind, int64_t index,
                        std::string &message) const;
  Outcome tryHopperMutant(const MutantKind &kind, int64_t index,
                          std::string &message) const;

private:
  Trial(const Case &testCase, int64_t numStates)
      : testCase(testCase), numStates(numStates) {}

  mlir::LogicalResult lower(mlir::ModuleOp module) const;
  /// Whether some problem executes the place of a mutant.
  bool isReached(bool isHopper, const MutantKind &kind, int64_t index) const;
  /// Outcomes from Checker on. Without exploration, the last is Harmless.
  Outcome judge(mlir::ModuleOp module, bool isHopper) const;
  struct Problem;
  Outcome judgeRuns(mlir::ModuleOp module, bool isHopper,
                    const Problem &problem) const;

  const Case &testCase;
  int64_t numStates;
  PipelineOptions pipeline;
  std::vector<std::string> falseAlarms;
  bool checksTile = true, checksHopper = true;
  mlir::OwningOpRef<mlir::ModuleOp> tile, hopper;
  /// Inputs, and the answers of the two stages.
  struct Problem {
    run::Problem inputs;
    bool isExplored;
    std::optional<run::Problem> tileAnswer, hopperAnswer;
  };
  std::vector<Problem> problems;
};

} // namespace fa3::mutate

#endif // FA3_LIB_TOOLS_MUTATE_TRIAL_H
