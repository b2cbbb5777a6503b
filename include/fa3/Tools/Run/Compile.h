//===- Compile.h - from a module to code for a device -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TOOLS_RUN_COMPILE_H
#define FA3_TOOLS_RUN_COMPILE_H

#include "mlir/Support/LLVM.h"
#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace fa3::run {

/// What a device runs: the manifest, and PTX or a cubin.
struct DeviceCode {
  std::string manifest, image;
  bool isCubin = false;
};

struct CompileOptions {
  /// Passes to run; empty: fa3-lower-to-nvvm-pipeline with `pipelineOptions`.
  std::string passPipeline, pipelineOptions;
  /// Path of ptxas; empty: where one is usually found.
  std::string ptxas;
  /// Leave the PTX to the driver, even if there is a ptxas.
  bool jit = false;
  /// Host function to launch; empty: the only one.
  std::string function;
};

/// Runs passes over a module, which they change.
mlir::LogicalResult runPasses(mlir::ModuleOp module,
                              llvm::StringRef passPipeline);

/// Compiles a module, which the passes change. Failures are diagnostics.
mlir::FailureOr<DeviceCode> compileForDevice(mlir::ModuleOp module,
                                             const CompileOptions &options);

/// The second half of that: a module at the end of the pipeline. Of the options
/// those of passes mean nothing.
mlir::FailureOr<DeviceCode> translateForDevice(mlir::ModuleOp module,
                                               const CompileOptions &options);

/// Reads a manifest and the PTX (`.ptx`) or cubin (`.cubin`) it belongs to.
mlir::FailureOr<DeviceCode> readDeviceCode(llvm::StringRef image,
                                           llvm::StringRef manifest);

} // namespace fa3::run

#endif // FA3_TOOLS_RUN_COMPILE_H
