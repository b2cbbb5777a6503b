//===- Solvers.h - answers to pipeline problems -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_SCHEDULING_SOLVERS_H
#define FA3_SCHEDULING_SOLVERS_H

#include "fa3/Scheduling/PipelineProblem.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace fa3 {

/// Writes an answer with at most `maxStages` stages into a problem. Gives what
/// stands in the way if the instance has none.
using PipelineSolver = std::optional<std::string> (*)(PipelineProblem &problem,
                                                      int64_t maxStages);

/// Greedy, without times. An operation that issues work on what this iteration
/// waited for goes to a later stage, so that the wait of the next iteration
/// overlaps with it. Within a step: first issue what is ready, then compute,
/// then wait, oldest first.
std::optional<std::string> scheduleByList(PipelineProblem &problem,
                                          int64_t maxStages);

/// By times: iterative modulo scheduling (Rau, "Iterative Modulo Scheduling: An
/// Algorithm For Software Pipelining Loops", MICRO-27, 1994), with the stages
/// as a further limit. Begins with the least interval that units and
/// recurrences allow and takes the first for which it finds an answer.
std::optional<std::string> scheduleByTimes(PipelineProblem &problem,
                                           int64_t maxStages);

/// `list` or `modulo`; null for other names.
PipelineSolver getPipelineSolver(llvm::StringRef name);

} // namespace fa3

#endif // FA3_SCHEDULING_SOLVERS_H
