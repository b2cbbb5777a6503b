//===- Ptxas.h - the assembler and what it says -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TARGET_PTX_PTXAS_H
#define FA3_TARGET_PTX_PTXAS_H

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace mlir {
namespace gpu {
class GPUModuleOp;
} // namespace gpu
} // namespace mlir

namespace fa3 {

struct PtxasOptions {
  /// Path of ptxas; empty: PATH, then /usr/local/cuda/bin.
  std::string path;
  std::string chip = "sm_90a";
  /// Serialized products and spilled registers are errors, not warnings.
  bool strict = false;
};

/// What ptxas -v says about one kernel.
struct KernelUsage {
  std::string name;
  int64_t registers = 0;
  int64_t stackBytes = 0, spillStoreBytes = 0, spillLoadBytes = 0;
  int64_t barriers = 0;
};

/// A message of ptxas, for instance (C7510), products serialized.
struct PtxasRemark {
  enum class Kind { Info, Warning, Error } kind;
  /// C75xx, or empty.
  std::string code;
  /// Kernel and line of the PTX, if the message names them.
  std::string function;
  std::optional<int64_t> line;
  std::string text;
};

struct PtxasReport {
  std::string cubin;
  llvm::SmallVector<KernelUsage> kernels;
  llvm::SmallVector<PtxasRemark> remarks;
};

/// The path of ptxas, none if there is no such program.
std::optional<std::string> findPtxas(llvm::StringRef path);

/// Reads the output of ptxas -v.
PtxasReport parsePtxasOutput(llvm::StringRef output);

/// Maps lines of PTX with `.loc` directives to where they come from.
std::optional<mlir::Location> findLocation(mlir::MLIRContext *context,
                                           llvm::StringRef ptx, int64_t line);

/// Assembles the PTX of a module. Messages become diagnostics at the operations
/// they are about, as far as the PTX has locations, or at the kernel. Fails if
/// ptxas does, or in strict mode if products are serialized or registers are
/// spilled.
mlir::FailureOr<PtxasReport> runPtxas(mlir::gpu::GPUModuleOp module,
                                      llvm::StringRef ptx,
                                      const PtxasOptions &options);

} // namespace fa3

#endif // FA3_TARGET_PTX_PTXAS_H
