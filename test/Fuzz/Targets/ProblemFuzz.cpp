//===- ProblemFuzz.cpp - problems of software pipelining as text ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Parses the input as fa3-schedule does. A problem that is printed reads back
// as it was, and every answer of a solver is one that verify() accepts.
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "fa3/Scheduling/ProblemText.h"
#include "fa3/Scheduling/Solvers.h"
#include "llvm/Support/raw_ostream.h"

using namespace fa3;

static std::string print(const PipelineProblem &problem) {
  std::string text;
  llvm::raw_string_ostream os(text);
  problem.print(os);
  return text;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  llvm::Expected<PipelineProblem> problem = parsePipelineProblem(text);
  if (!problem) {
    FA3_FUZZ_CHECK(!llvm::toString(problem.takeError()).empty());
    return 0;
  }
  std::string printed = print(*problem);
  llvm::Expected<PipelineProblem> again = parsePipelineProblem(printed);
  FA3_FUZZ_CHECK(again);
  FA3_FUZZ_CHECK(print(*again) == printed);
  if (problem->check())
    return 0;
  problem->verify();
  for (const char *name : {"list", "modulo"})
    for (int64_t stages : {1, 2, 3}) {
      PipelineProblem answered = *problem;
      if (!getPipelineSolver(name)(answered, stages))
        FA3_FUZZ_CHECK(!answered.verify());
    }
  return 0;
}
