//===- Scheduler.h - groups as coroutines -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the groups of a CTA one at a time. A group runs until it has to wait;
// then the next one that can go on is resumed.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_INTERP_CORE_SCHEDULER_H
#define FA3_LIB_INTERP_CORE_SCHEDULER_H

#include "mlir/IR/Operation.h"
#include "mlir/Support/LLVM.h"
#include <functional>
#include <memory>
#include <optional>
#include <random>

namespace fa3::interp {

/// What a coroutine waits for.
struct Wait {
  mlir::Operation *op;
  /// Whether it can go on.
  llvm::function_ref<bool()> ready;
  /// Completes one asynchronous operation that it waits for; false if there is
  /// none. Asked only when no coroutine can go on.
  llvm::function_ref<bool()> help;
  /// What is missing, for the message of a deadlock.
  llvm::function_ref<std::string()> describe;
};

class Coroutine;

class Scheduler {
public:
  /// Without a seed coroutines take turns; with one the next is picked at
  /// random, and they are interrupted at random where they synchronize.
  /// A timed one picks the coroutine that is least far in time.
  explicit Scheduler(std::optional<uint64_t> seed, bool timed = false);
  ~Scheduler();

  void spawn(std::string name, std::function<mlir::LogicalResult()> body);

  /// Runs until all coroutines have ended. Reports a deadlock; fails also if a
  /// coroutine does. `step` is called before every resumption.
  mlir::LogicalResult run(llvm::function_ref<void()> step);

  /// To be called within a coroutine. Fails when the run is being abandoned.
  mlir::LogicalResult wait(const Wait &wait);
  /// A point at which others may run, if the order is random.
  mlir::LogicalResult pause(mlir::Operation *op);
  /// Timed: lets those run first that are not as far as `time`.
  mlir::LogicalResult yieldUntil(int64_t time);

private:
  friend class Coroutine;
  Coroutine *pick();
  Coroutine *pickEarliest();
  void reportDeadlock();
  void abandon();

  std::optional<std::mt19937_64> random;
  std::vector<std::unique_ptr<Coroutine>> coroutines;
  std::vector<std::unique_ptr<Coroutine>> idle;
  Coroutine *running = nullptr;
  size_t turn = 0;
  bool timed = false, abandoned = false;
};

} // namespace fa3::interp

#endif // FA3_LIB_INTERP_CORE_SCHEDULER_H
