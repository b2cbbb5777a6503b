//===- ProblemText.h - pipeline problems as text ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The format that PipelineProblem::print writes. Operations and units have the
// numbers of their lines; an answer is optional.
//
//   unit tensor
//   0: issue tile.dot.async latency 704 uses tensor 640 start 0 stage 0
//   position 0 1: wait tile.await 0 -> 1 distance 0 0 -> 1 in step interval
//   2571
//===----------------------------------------------------------------------===//

#ifndef FA3_SCHEDULING_PROBLEMTEXT_H
#define FA3_SCHEDULING_PROBLEMTEXT_H

#include "fa3/Scheduling/PipelineProblem.h"
#include "llvm/Support/Error.h"

namespace fa3 {

/// Reads a problem. Empty lines and what follows `//` are left out; errors say
/// the line.
llvm::Expected<PipelineProblem> parsePipelineProblem(llvm::StringRef text);

} // namespace fa3

#endif // FA3_SCHEDULING_PROBLEMTEXT_H
