//===- CommandLine.h - options of fa3-run -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_TOOLS_RUN_COMMANDLINE_H
#define FA3_LIB_TOOLS_RUN_COMMANDLINE_H

#include "fa3/Interp/Interpreter.h"
#include "fa3/Tools/Run/Compile.h"
#include "fa3/Tools/Run/Problem.h"
#include "fa3/Tools/Run/Timing.h"
#include "llvm/Support/CommandLine.h"

namespace fa3::run {

/// Where a problem is run.
enum class ExecutorKind { Auto, Device, PTX, Interpreter, Reference };

/// The options as they are given.
struct CommandLine {
  CommandLine();

  llvm::cl::opt<std::string> file;
  llvm::cl::opt<std::string> function;

  // Code.
  llvm::cl::opt<std::string> manifest, reference;
  llvm::cl::opt<std::string> passPipeline, pipelineOptions, ptxas;
  llvm::cl::opt<bool> jit;

  // The problem.
  llvm::cl::list<std::string> dims, scalars, inputs, fills, lengths, pages,
      orders, paddings;
  llvm::cl::opt<uint64_t> seed;
  llvm::cl::opt<Distribution> distribution;

  // Execution.
  llvm::cl::opt<ExecutorKind> executor;
  llvm::cl::opt<bool> cpu;
  llvm::cl::opt<int32_t> device;
  llvm::cl::opt<int64_t> sms;
  llvm::cl::opt<uint32_t> firstBlock;
  llvm::cl::opt<std::string> scheduleSeed;
  llvm::cl::opt<interp::Completion> completion;
  llvm::cl::opt<interp::Guards> guards;
  llvm::cl::opt<bool> requireFences;

  // What is done with the results.
  llvm::cl::list<std::string> outputs, prints;
  llvm::cl::opt<bool> checksum, json;
  llvm::cl::opt<std::string> against;
  llvm::cl::opt<double> atol, rtol;
  llvm::cl::opt<bool> noCheck;
  llvm::cl::opt<int64_t> checkHeads, repeat, iterations;
  llvm::cl::list<TimingMode> time;
};

/// The options that have a form of their own, parsed. Failures print a message.
struct ParsedOptions {
  ProblemOptions problem;
  interp::Options interpreter;
  CompileOptions compile;
  ExecutorKind executor = ExecutorKind::Auto;
  llvm::StringMap<std::string> outputs;
};
mlir::FailureOr<ParsedOptions> parseOptions(const CommandLine &line);

} // namespace fa3::run

#endif // FA3_LIB_TOOLS_RUN_COMMANDLINE_H
