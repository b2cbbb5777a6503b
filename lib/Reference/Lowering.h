//===- Lowering.h - from attention to LLVM, for references ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_REFERENCE_LOWERING_H
#define FA3_LIB_REFERENCE_LOWERING_H

#include "fa3/Reference/Reference.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fa3 {

/// Expands mods and lowers the functions of `module` with attention.forward to
/// sliced host functions.
llvm::LogicalResult lowerToHostFunction(mlir::ModuleOp module,
                                        const ReferenceOptions &options);

/// Turns a failed `cf.assert` of a host function from the end of the process
/// into its result: the function gives -1 - n if the n-th fails, else the index
/// it gave, or 0. Appends their messages to `messages`.
llvm::LogicalResult
replaceAssertsByStatus(mlir::func::FuncOp function,
                       llvm::SmallVectorImpl<std::string> &messages);

/// Lowers scf, cf, arith, math, memref and func to the llvm dialect.
llvm::LogicalResult lowerToLLVM(mlir::ModuleOp module);

} // namespace fa3

#endif // FA3_LIB_REFERENCE_LOWERING_H
