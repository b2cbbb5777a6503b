//===- Source.h - what fa3-run is asked to run ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_TOOLS_RUN_SOURCE_H
#define FA3_LIB_TOOLS_RUN_SOURCE_H

#include "fa3/Tools/Run/Compile.h"
#include "fa3/Tools/Run/Signature.h"
#include <optional>

namespace fa3::run {

struct CommandLine;

/// The files of a command line, read. There is a module, or code, or both.
class Source {
public:
  static mlir::FailureOr<Source> load(const CommandLine &line,
                                      mlir::MLIRContext &context);

  /// The module as it was read, null if there is only code.
  mlir::ModuleOp getModule() const { return module ? *module : nullptr; }
  /// The code that was given instead of being compiled.
  const std::optional<DeviceCode> &getCode() const { return code; }
  /// Whether the module states attention on tensors.
  bool isAttention() const { return attention; }

  /// A host function that problems can be made of and, unless there is only
  /// code, interpreted; what it does with its arguments, if its body does not
  /// tell.
  mlir::FunctionOpInterface getFunction() const { return function; }
  llvm::ArrayRef<interp::Access> getAccesses() const {
    return signature ? signature->accesses : llvm::ArrayRef<interp::Access>();
  }

private:
  mlir::LogicalResult loadModule(llvm::StringRef path, const CommandLine &line,
                                 mlir::MLIRContext &context);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::optional<DeviceCode> code;
  bool attention = false;
  /// The module lowered as far as the interpreter needs it; null if it needs
  /// nothing.
  mlir::OwningOpRef<mlir::ModuleOp> lowered;
  std::optional<Signature> signature;
  mlir::FunctionOpInterface function;
};

} // namespace fa3::run

#endif // FA3_LIB_TOOLS_RUN_SOURCE_H
