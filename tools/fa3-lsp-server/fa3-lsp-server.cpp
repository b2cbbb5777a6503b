//===- fa3-lsp-server.cpp - language server of fa3's dialects -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/InitAllDialects.h"
#include "fa3/Support/Tool.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  fa3::initTool();
  mlir::DialectRegistry registry;
  fa3::registerAllDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
