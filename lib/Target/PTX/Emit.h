//===- Emit.h - the steps from kernels to PTX -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What translates a module as a whole and what gives each kernel a thread have
// in common. Functions that take no operation may run in any thread.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_TARGET_PTX_EMIT_H
#define FA3_LIB_TARGET_PTX_EMIT_H

#include "fa3/Target/PTX/PTX.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <optional>

namespace fa3 {

/// What the code generator wrote and said.
struct Emission {
  struct Message {
    bool isError;
    std::string text;
  };
  std::string ptx;
  mlir::SmallVector<Message> messages;

  /// Reports the messages at an operation; fails if one of them is an error.
  mlir::LogicalResult report(mlir::Operation *op) const;
};

/// Every operation has to be one of llvm or nvvm, with names that PTX knows.
mlir::LogicalResult verifyLowered(mlir::gpu::GPUModuleOp module);

/// The function passes of a kernel as LLVM parses them; nothing if it has
/// others, or some that are not known.
std::optional<mlir::StringRef>
getFunctionPipeline(mlir::gpu::GPUModuleOp module,
                    mlir::LLVM::LLVMFuncOp kernel, const PTXOptions &options);

/// LLVM IR of one kernel and all that is no kernel, before any pass.
mlir::FailureOr<std::unique_ptr<llvm::Module>>
translateKernel(mlir::gpu::GPUModuleOp module, mlir::LLVM::LLVMFuncOp kernel,
                llvm::LLVMContext &context, const PTXOptions &options);

/// Runs function passes on all functions, and what is done to every kernel.
void runFunctionPasses(llvm::Module &module, mlir::StringRef pipeline,
                       const PTXOptions &options);

/// Whether a block ends in a branch on a vote that was held in an earlier one
/// (hopper-vote-early).
bool hasOldVotes(const llvm::Module &module);

/// PTX of LLVM IR; `sinks`: the code generator may move code behind branches,
/// for a module without old votes.
Emission emit(llvm::Module &module, const PTXOptions &options, bool sinks);

} // namespace fa3

#endif // FA3_LIB_TARGET_PTX_EMIT_H
