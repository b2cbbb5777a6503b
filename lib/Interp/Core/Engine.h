//===- Engine.h - what a run shares -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Options, random choices, and the decoded functions of one run; the state of
// the CTA that is running.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_INTERP_CORE_ENGINE_H
#define FA3_LIB_INTERP_CORE_ENGINE_H

#include "Context.h"
#include "Decoder.h"
#include "Scheduler.h"
#include "fa3/Interp/Interpreter.h"
#include "fa3/Interp/ProtocolSearch.h"
#include <random>

namespace fa3::interp {

class Clock;
class Machine;
class DotQueue;
class WarpGroup;

/// One copy of a `warp.group`, or the kernel body outside groups.
struct Group {
  std::string name;
  /// The warp.group operation; null for the kernel body.
  mlir::Operation *op = nullptr;
  int64_t replica = 0;
  int64_t threads = 0;
  /// Its number in the protocol of the block.
  unsigned agent = 0;
  /// First warp of this copy, where packing has decided it.
  std::optional<int64_t> firstWarp;
  /// What it has in flight: products of the tile dialect, products and stores
  /// of the hopper dialect. Null as long as there was nothing.
  std::shared_ptr<DotQueue> dots;
  std::shared_ptr<WarpGroup> warpGroup;
  /// Of a timed run, in cycles: when it began what it computes, and when the
  /// last unit it uses is done.
  int64_t now = 0, busyUntil = 0;
};

/// A thread block.
struct Cta {
  Cta(std::optional<uint64_t> seed, bool timed) : scheduler(seed, timed) {}

  Scheduler scheduler;
  mlir::Operation *kernel = nullptr;
  int64_t block = 0, blocks = 1, threads = 1;
  /// Shared memory and barriers; null before the hopper stage.
  std::shared_ptr<Machine> machine;
  /// Null unless the run is timed.
  std::shared_ptr<Clock> clock;
  /// All groups of the block, those that have ended included.
  std::vector<std::unique_ptr<Group>> groups;
  /// Rings of the warp.specialize being run.
  llvm::SmallVector<Ref<Object>> rings;
  llvm::SmallVector<Ref<Object>> orders;
  /// What is recorded for the exploration of schedules; null if nothing is.
  std::unique_ptr<Protocol> protocol;
};

class Engine {
public:
  explicit Engine(const Options &options);

  /// The decoded form of a function; null after a diagnostic.
  const Function *getFunction(mlir::Operation *op,
                              const CodeOptions &codeOptions = {});

  /// Calls a function with the given cells as arguments.
  mlir::LogicalResult call(const Context *caller, const Function &function,
                           mlir::ArrayRef<Cell> arguments,
                           mlir::SmallVectorImpl<Cell> &results);

  const Options &getOptions() const { return options; }
  /// A random choice between true and false.
  bool flip() { return random() & 1; }
  uint64_t choose(uint64_t count) { return random() % count; }

  /// Goes through all schedules of the block that has just run.
  mlir::LogicalResult exploreBlock(const Cta &cta);

private:
  Options options;
  Registry registry;
  std::mt19937_64 random;
  /// Protocols that were explored.
  llvm::DenseSet<uint64_t> explored;
  llvm::DenseMap<std::pair<mlir::Operation *, int64_t>,
                 std::unique_ptr<Function>>
      functions;
};

} // namespace fa3::interp

#endif // FA3_LIB_INTERP_CORE_ENGINE_H
