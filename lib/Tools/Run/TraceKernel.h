//===- TraceKernel.h - what a kernel does when ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_TOOLS_RUN_TRACEKERNEL_H
#define FA3_LIB_TOOLS_RUN_TRACEKERNEL_H

#include "CommandLine.h"

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace fa3::run {

/// Command-line options of traces.
struct TraceOptions {
  llvm::cl::opt<std::string> events{
      "trace",
      llvm::cl::desc("Writes what the warp groups, products and copies of a "
                     "kernel do when, as Perfetto reads it: predicted, and "
                     "measured if there is a GPU"),
      llvm::cl::value_desc("file.json")};
  llvm::cl::opt<std::string> drawing{
      "trace-svg", llvm::cl::desc("Draws two iterations of that"),
      llvm::cl::value_desc("file.svg")};
  llvm::cl::opt<int64_t> ctas{
      "trace-ctas", llvm::cl::desc("CTAs that are traced"), llvm::cl::init(1)};

  bool isAsked() const { return !events.empty() || !drawing.empty(); }
};

/// Compiles the module of a command line with records and traces its kernel.
mlir::LogicalResult traceKernel(const CommandLine &line,
                                const TraceOptions &options,
                                mlir::MLIRContext &context);

} // namespace fa3::run

#endif // FA3_LIB_TOOLS_RUN_TRACEKERNEL_H
