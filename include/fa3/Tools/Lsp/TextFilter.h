//===- TextFilter.h - what a language server gets to read -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// MLIR's server parses what an editor sends, and text that nests too deeply
// ends the process (ModuleText.h). A thread in front of the server reads its
// messages: of such a document the server sees one line at the place of the
// fault, whose parsing is the diagnostic.
//===----------------------------------------------------------------------===//

#ifndef FA3_TOOLS_LSP_TEXTFILTER_H
#define FA3_TOOLS_LSP_TEXTFILTER_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/StringMap.h"
#include <string>

namespace fa3::lsp {

/// Registers the dialect of that line.
void registerFaultDialect(mlir::DialectRegistry &registry);

/// The documents that an editor has open.
class TextFilter {
public:
  /// A message, or what the server gets in its place.
  std::string filter(llvm::StringRef message);

private:
  llvm::StringMap<std::string> texts;
};

/// Puts the filter in front of standard input, in a thread of its own.
/// `isDelimited`: messages end with a line `// -----`, as in tests.
mlir::LogicalResult filterStandardInput(bool isDelimited);

} // namespace fa3::lsp

#endif // FA3_TOOLS_LSP_TEXTFILTER_H
