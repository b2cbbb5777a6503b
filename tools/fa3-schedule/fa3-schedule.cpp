//===- fa3-schedule.cpp - answers to pipeline problems as text ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Scheduling/ProblemText.h"
#include "fa3/Scheduling/Solvers.h"
#include "fa3/Support/Tool.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

static int fail(const std::string &message) {
  llvm::WithColor::error(llvm::errs()) << message << '\n';
  return 1;
}

int main(int argc, char **argv) {
  fa3::initTool();
  llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::init("-"),
                                   llvm::cl::desc("<problem>"));
  llvm::cl::opt<std::string> solver(
      "solver", llvm::cl::init("modulo"),
      llvm::cl::desc("list, modulo, or none: verify the answer that is given"));
  llvm::cl::opt<int64_t> stages("stages", llvm::cl::init(2),
                                llvm::cl::desc("greatest number of stages"));
  llvm::cl::ParseCommandLineOptions(argc, argv, "schedules a loop body\n");
  constexpr int64_t kMostStages = 64;
  if (stages < 1 || stages > kMostStages)
    return fail("expected between 1 and " + std::to_string(kMostStages) +
                " stages, got " + std::to_string(stages));
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(input);
  if (!file)
    return fail(input + ": " + file.getError().message());
  auto problem = fa3::parsePipelineProblem((*file)->getBuffer());
  if (!problem)
    return fail(input + ": " + llvm::toString(problem.takeError()));
  fa3::PipelineSolver solve = fa3::getPipelineSolver(solver);
  if (!solve && solver != "none")
    return fail("expected list, modulo or none as solver, got '" + solver +
                "'");
  std::optional<std::string> error = problem->check();
  if (!error)
    error = solve ? solve(*problem, stages) : problem->verify();
  if (error)
    return fail(*error);
  problem->print(llvm::outs());
  return 0;
}
