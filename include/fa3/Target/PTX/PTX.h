//===- PTX.h - kernels as LLVM IR and PTX -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TARGET_PTX_PTX_H
#define FA3_TARGET_PTX_PTX_H

#include "mlir/Support/LLVM.h"
#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace mlir {
class DialectRegistry;
namespace gpu {
class GPUModuleOp;
} // namespace gpu
} // namespace mlir

namespace fa3 {

struct PTXOptions {
  std::string chip = "sm_90a";
  /// PTX ISA version times ten, 80 to 90.
  unsigned ptxVersion = 90;
  /// Passes on LLVM IR: none, rows, small, O1, O3, or a pipeline as opt takes
  /// it; empty: what the module says (`hopper.llvm_passes`), or rows. Rows lets
  /// the rows of a fragment follow each other (fa3-order-rows), small is sroa,
  /// early-cse, instcombine and simplifycfg. What the MLIR passes leave is
  /// final otherwise: O1 and O3 make no kernel faster and several slower
  /// (docs/Performance.md).
  std::string passes;
  /// Locations as `.loc` directives, which change no code. Messages of ptxas
  /// can then be traced to operations.
  bool locations = false;
  /// Names of values in LLVM IR that is to be read. PTX has none of them, and
  /// keeping them takes time.
  bool names = false;
};

/// What is wrong with chip or version, if anything: the kernels' instructions
/// are those of Hopper, and exist on no other chip.
std::optional<std::string> explainWrongTarget(const PTXOptions &options);

/// Registers what `translateToLLVMIR` needs, before a context is made.
void registerPTXTranslation(mlir::DialectRegistry &registry);

/// LLVM IR of a module at the end of the pipeline, after the passes. Reports
/// the first operation that is neither of llvm nor of nvvm.
mlir::FailureOr<std::unique_ptr<llvm::Module>>
translateToLLVMIR(mlir::gpu::GPUModuleOp module, llvm::LLVMContext &context,
                  const PTXOptions &options);

/// PTX of a module at the end of the pipeline. Kernels of a module have a
/// thread each; what is written does not depend on that.
mlir::FailureOr<std::string> translateToPTX(mlir::gpu::GPUModuleOp module,
                                            const PTXOptions &options);

/// PTX of a module that translateToLLVMIR made.
mlir::FailureOr<std::string> emitPTX(mlir::gpu::GPUModuleOp module,
                                     llvm::Module &llvmModule,
                                     const PTXOptions &options);

} // namespace fa3

#endif // FA3_TARGET_PTX_PTX_H
