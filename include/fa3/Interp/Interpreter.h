//===- Interpreter.h - runs a module on the CPU -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Executes a host function and the kernels it launches, at any stage below the
// attention dialect. It is the meaning of the tile, warp and hopper dialects
// that passes are tested against: what those dialects leave open (who runs
// next, when an asynchronous operation completes) is chosen by options, and
// what they forbid is an error.
//===----------------------------------------------------------------------===//

#ifndef FA3_INTERP_INTERPRETER_H
#define FA3_INTERP_INTERPRETER_H

#include "fa3/Interp/Array.h"
#include "mlir/Support/LLVM.h"
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace mlir {
class FunctionOpInterface;
} // namespace mlir

namespace fa3::interp {

/// When an asynchronous operation completes, within what is legal.
enum class Completion {
  Eager,  ///< as soon as it is issued
  Latest, ///< when nothing can go on without it
  Random, ///< by a random choice at every synchronization
};

/// What `tile.any_possible` answers where it may answer either way.
enum class Guards {
  Exact,  ///< true only if an element is true
  Random, ///< true at random otherwise
  Taken,  ///< always true
};

/// What was explored in a run, over all blocks. Blocks with equal protocols are
/// explored once.
struct ExplorationSummary {
  int64_t blocks = 0, protocols = 0, states = 0, mostStates = 0, mostEvents = 0;
  /// Protocols with more states than allowed.
  int64_t incomplete = 0;
  /// Whether a bad schedule was found.
  bool failed = false;
};

/// What the units of a multiprocessor do for one block, in cycles from the
/// block's start.
struct BlockTimeline {
  struct Use {
    std::string unit, name;
    int64_t begin, end;
  };
  std::vector<Use> uses;
};

struct Options {
  /// Result of tile.sm_count and hopper.sm_count.
  int64_t sms = 3;
  Completion completion = Completion::Latest;
  Guards guards = Guards::Exact;
  /// Picks the next group at random instead of in turn.
  std::optional<uint64_t> scheduleSeed;
  /// Seed of the random choices of completion and guards.
  uint64_t choiceSeed = 0;
  /// Whether missing proxy and wgmma fences are errors. They are inserted late,
  /// so modules of earlier stages run without.
  bool requireFences = false;
  /// Beside running, goes through all schedules of every block of hopper
  /// kernels, up to so many states per protocol (see Protocol.h). 0: does not.
  int64_t exploreStates = 0;
  /// Whether hopper kernels tell the time: by the units that their operations
  /// occupy (fa3/Dialect/Hopper/Analysis/HopperResources.h). Completion is
  /// eager and the schedule follows the times.
  bool timed = false;
  /// A timed run runs at most so many blocks of a launch; 0: all.
  int64_t timedBlocks = 0;
  /// Where a timed run puts what units do, by block, if not null.
  std::vector<BlockTimeline> *timelines = nullptr;
  /// Where to report what was explored, if not null.
  ExplorationSummary *summary = nullptr;
};

/// An argument of a host function: an array, an integer or a float.
using Argument = std::variant<Array, int64_t, double>;

/// Runs `function` on `arguments`, which fit its type. Arrays are changed in
/// place. Failures are reported as diagnostics.
mlir::LogicalResult interpret(mlir::FunctionOpInterface function,
                              mlir::ArrayRef<Argument> arguments,
                              const Options &options);

/// What a function does with the memory behind an argument.
struct Access {
  bool read = false, written = false;
};

/// Access of a host function to each of its arguments, kernels and callees
/// included. Memory that is used in a way that cannot be followed counts as
/// read and written.
mlir::SmallVector<Access> getArgumentAccess(mlir::FunctionOpInterface function);

} // namespace fa3::interp

#endif // FA3_INTERP_INTERPRETER_H
