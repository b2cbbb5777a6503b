//===- fa3-lsp-server.cpp - language server of fa3's dialects -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/InitAllDialects.h"
#include "fa3/Support/Tool.h"
#include "fa3/Tools/Lsp/TextFilter.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/raw_ostream.h"

/// Whether messages have no headers, as in tests.
static bool areDelimited(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = llvm::StringRef(argv[i]).ltrim('-');
    if (argument == "lit-test" || argument == "input-style=delimited")
      return true;
    if (argument == "input-style" && i + 1 < argc)
      return llvm::StringRef(argv[i + 1]) == "delimited";
  }
  return false;
}

int main(int argc, char **argv) {
  fa3::initTool();
  mlir::DialectRegistry registry;
  fa3::registerAllDialects(registry);
  fa3::lsp::registerFaultDialect(registry);
  if (failed(fa3::lsp::filterStandardInput(areDelimited(argc, argv)))) {
    llvm::errs() << "fa3-lsp-server: error: cannot read standard input\n";
    return 1;
  }
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
