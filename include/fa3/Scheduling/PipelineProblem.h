//===- PipelineProblem.h - software pipelining as a problem -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// One loop body to be pipelined: operations, dependences, units, and an answer
// (stage and position of each operation, and times if a solver deals in them).
// Plain data, no IR; solvers are functions (Solvers.h).
//===----------------------------------------------------------------------===//

#ifndef FA3_SCHEDULING_PIPELINEPROBLEM_H
#define FA3_SCHEDULING_PIPELINEPROBLEM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <string>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace fa3 {

/// Operations of a loop body and what must come before what. In the pipelined
/// loop, step t performs the operations of stage s for iteration t - s, in the
/// order of their positions.
class PipelineProblem {
public:
  enum class Kind {
    Compute,      ///< runs to completion in order
    Issue,        ///< starts asynchronous work
    Wait,         ///< waits for asynchronous work
    DeferredWait, ///< waits, and nothing in its iteration needs it to
    Free,         ///< gives up what others wait for: the sooner the better
    Spread,       ///< makes much of little: belongs to the stage of its use
    Copy,         ///< starts a copy, which is needed a stage later
    Arrival,      ///< waits for a copy
    Meeting,      ///< waits for what other threads do in the iteration before
  };
  static constexpr unsigned kNumKinds = 9;
  /// A unit that is occupied from the start of an operation on.
  struct Use {
    unsigned unit;
    int64_t cycles;
  };
  struct Operation {
    std::string name;
    Kind kind;
    llvm::SmallVector<Use, 2> uses;
    /// Cycles from the start until what depends on it may start.
    int64_t latency = 0;
    /// The answer. `start` is in cycles of the first iteration.
    std::optional<int64_t> stage, position, start;
  };
  /// `to` of iteration i + distance must come after `from` of iteration i.
  struct Dependence {
    unsigned from, to, distance;
  };

  /// In every step of the pipelined loop `to` has its place behind `from`,
  /// whatever the iterations that they work for.
  struct Order {
    unsigned from, to;
  };

  unsigned addOperation(std::string name, Kind kind);
  void addDependence(unsigned from, unsigned to, unsigned distance);
  void addOrder(unsigned from, unsigned to) { orders.push_back({from, to}); }
  /// Units do one thing at a time.
  unsigned addUnit(std::string name);
  void addUse(unsigned op, unsigned unit, int64_t cycles);
  void setLatency(unsigned op, int64_t cycles) {
    operations[op].latency = cycles;
  }

  llvm::ArrayRef<Operation> getOperations() const { return operations; }
  llvm::ArrayRef<Dependence> getDependences() const { return dependences; }
  llvm::ArrayRef<Order> getOrders() const { return orders; }
  llvm::ArrayRef<std::string> getUnits() const { return units; }
  void setStage(unsigned op, int64_t stage) { operations[op].stage = stage; }
  void setPosition(unsigned op, int64_t position) {
    operations[op].position = position;
  }
  void setStart(unsigned op, int64_t start) { operations[op].start = start; }
  /// Cycles between the starts of two iterations; none if the answer has no
  /// times.
  std::optional<int64_t> getInterval() const { return interval; }
  void setInterval(int64_t cycles) { interval = cycles; }

  /// What is wrong with the instance: a dependence between operations that do
  /// not exist, or an order of them, a distance above 1 (the expander carries
  /// values over one iteration only), a cycle within one iteration, a unit that
  /// does not exist, a negative time.
  std::optional<std::string> check() const;
  /// What is wrong with the answer: an operation without stage or position, two
  /// at one position, a dependence or an order that is not respected; with an
  /// interval, also a start that is too early, stages and positions that are
  /// not those of the starts, and a unit that two operations occupy at once.
  std::optional<std::string> verify() const;

  /// One line per unit, operation, dependence and order, and one for the
  /// interval.
  void print(llvm::raw_ostream &os) const;

private:
  std::optional<std::string> verifyTimes() const;

  llvm::SmallVector<Operation> operations;
  llvm::SmallVector<Dependence> dependences;
  llvm::SmallVector<Order> orders;
  llvm::SmallVector<std::string> units;
  std::optional<int64_t> interval;
};

llvm::StringRef getName(PipelineProblem::Kind kind);

} // namespace fa3

#endif // FA3_SCHEDULING_PIPELINEPROBLEM_H
