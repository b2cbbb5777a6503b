//===- PipelineProblem.h - software pipelining as a problem -----*- C++ -*-===//
//
// One loop body to be pipelined: operations, dependences, and an answer (stage
// and position of each operation). Plain data, no IR; solvers are functions.
//
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
  };
  struct Operation {
    std::string name;
    Kind kind;
    std::optional<int64_t> stage, position;
  };
  /// `to` of iteration i + distance must come after `from` of iteration i.
  struct Dependence {
    unsigned from, to, distance;
  };

  unsigned addOperation(std::string name, Kind kind);
  void addDependence(unsigned from, unsigned to, unsigned distance);

  llvm::ArrayRef<Operation> getOperations() const { return operations; }
  llvm::ArrayRef<Dependence> getDependences() const { return dependences; }
  void setStage(unsigned op, int64_t stage) { operations[op].stage = stage; }
  void setPosition(unsigned op, int64_t position) {
    operations[op].position = position;
  }

  /// What is wrong with the instance: a dependence between operations that do
  /// not exist, a distance above 1 (the expander carries values over one
  /// iteration only), a cycle within one iteration.
  std::optional<std::string> check() const;
  /// What is wrong with the answer: an operation without stage or position, two
  /// at one position, a dependence that is not respected.
  std::optional<std::string> verify() const;

  /// One line per operation and dependence.
  void print(llvm::raw_ostream &os) const;

private:
  llvm::SmallVector<Operation> operations;
  llvm::SmallVector<Dependence> dependences;
};

/// Greedy answer with at most `maxStages` stages. An operation that issues work
/// on what this iteration waited for goes to a later stage, so that the wait of
/// the next iteration overlaps with it. Within a step: first issue what is
/// ready, then compute, then wait, oldest first. Gives what stands in the way
/// if there is no answer even with one stage.
std::optional<std::string> scheduleByList(PipelineProblem &problem,
                                          int64_t maxStages);

} // namespace fa3

#endif // FA3_SCHEDULING_PIPELINEPROBLEM_H
