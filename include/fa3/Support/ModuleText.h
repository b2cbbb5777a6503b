//===- ModuleText.h - a look at a module before it is parsed ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// MLIR's parser recurses into brackets and regions, and so do walks over what
// it makes: text that nests too deeply ends the process by a stack overflow,
// and a number of a million digits takes minutes. Such text is refused
// unparsed.
//===----------------------------------------------------------------------===//

#ifndef FA3_SUPPORT_MODULETEXT_H
#define FA3_SUPPORT_MODULETEXT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <optional>
#include <string>

namespace fa3 {

/// Where a text is not to be parsed, counted from 1, and why.
struct TextFault {
  unsigned line, column;
  std::string message;
};

/// The first place that nests more than 256 brackets or regions, aliases
/// included, or has a number, shape or item of a list beyond all use.
std::optional<TextFault> findTextFault(llvm::StringRef text);

/// Reports what findTextFault finds at its place in the buffer; bytecode
/// passes.
mlir::LogicalResult checkModuleText(llvm::MemoryBufferRef buffer,
                                    mlir::MLIRContext *context);

/// The same without a context: prints it as the parser would.
mlir::LogicalResult printModuleTextFault(llvm::MemoryBufferRef buffer);

/// What mlir::parseSourceFile does, behind that check. `-` is standard input.
mlir::OwningOpRef<mlir::ModuleOp> parseModuleFile(llvm::StringRef path,
                                                  mlir::MLIRContext *context);

} // namespace fa3

#endif // FA3_SUPPORT_MODULETEXT_H
