//===- ProgramPipeline.h - pipelines on whole programs ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A pipeline of kernels cleans up what it passes. In a program that holds other
// code it runs on one attention at a time, apart from the rest.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_PIPELINES_PROGRAMPIPELINE_H
#define FA3_LIB_PIPELINES_PROGRAMPIPELINE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fa3 {

/// Whether `module` holds attention and anything else than functions that
/// consist of it.
bool isProgram(mlir::ModuleOp module);

/// Calls `lower` on a module for every function of attention of an outlined
/// program, which holds nothing else, and puts what that makes of it in its
/// place.
mlir::LogicalResult
lowerApart(mlir::ModuleOp program,
           llvm::function_ref<mlir::LogicalResult(mlir::ModuleOp)> lower);

} // namespace fa3

#endif // FA3_LIB_PIPELINES_PROGRAMPIPELINE_H
