//===- fa3-run.cpp - runs a host function and its kernels -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/InitAllDialects.h"
#include "fa3/Support/Tool.h"
#include "fa3/Tools/Run/RunMain.h"
#include "mlir/IR/DialectRegistry.h"

int main(int argc, char **argv) {
  fa3::initTool();
  mlir::DialectRegistry registry;
  fa3::registerAllDialects(registry);
  return fa3::run::runMain(argc, argv, registry);
}
