//===- Signature.h - the arguments of a manifest ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TOOLS_RUN_SIGNATURE_H
#define FA3_TOOLS_RUN_SIGNATURE_H

#include "fa3/Interp/Interpreter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace fa3::run {

/// A function that takes what a manifest says and does nothing: what a problem
/// is made from without the module that was compiled.
struct Signature {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::FunctionOpInterface function;
  /// What the program does with each argument.
  llvm::SmallVector<interp::Access> accesses;
};

/// Reads a manifest; `path` is the place of diagnostics.
mlir::FailureOr<Signature> readSignature(llvm::StringRef manifest,
                                         llvm::StringRef path,
                                         mlir::MLIRContext &context);

} // namespace fa3::run

#endif // FA3_TOOLS_RUN_SIGNATURE_H
