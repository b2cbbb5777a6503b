//===- EmbedKernels.h - kernels inside of a program -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_LOWERHOST_EMBEDKERNELS_H
#define FA3_LIB_CONVERSION_LOWERHOST_EMBEDKERNELS_H

#include "fa3/Conversion/LowerHost/LowerHost.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace fa3 {

struct EmbedOptions {
  HostImage image;
  HostMemory memory;
  std::string chip;
  unsigned ptxVersion;
};

/// Whether `function` launches kernels.
bool launchesKernels(mlir::func::FuncOp function);

/// The modules of the kernels that `function` launches. Fails with an error at
/// a launch of something else.
mlir::FailureOr<llvm::SmallVector<mlir::gpu::GPUModuleOp>>
findKernels(mlir::func::FuncOp function, const mlir::SymbolTable &symbols);

/// PTX of the kernels of `function`, which are all in one module; `kernels` may
/// be a copy of it. Fails with an error at kernels that are not lowered to
/// LLVM.
mlir::FailureOr<std::string>
emitKernels(mlir::func::FuncOp function,
            llvm::ArrayRef<mlir::gpu::GPUModuleOp> kernels,
            const EmbedOptions &options);

/// What a host function takes behind its arguments.
struct EmbedOperands {
  /// Memory between kernels, memref<?xi8>, then a stream, !llvm.ptr.
  bool workspace = false, stream = false;
};

/// Replaces the body of a host function by a call of fa3_host_launch, or, if it
/// takes more, of fa3_host_launch_on, with its kernels as globals of the module
/// around it, and erases their modules. Arguments may have any strides.
/// `symbols` are those of that module.
mlir::LogicalResult embedKernels(mlir::func::FuncOp function,
                                 mlir::SymbolTable &symbols,
                                 const EmbedOptions &options,
                                 EmbedOperands operands);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_LOWERHOST_EMBEDKERNELS_H
