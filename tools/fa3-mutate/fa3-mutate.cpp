//===- fa3-mutate.cpp - makes mutants of kernels and looks for them -------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/InitAllDialects.h"
#include "fa3/InitAllPasses.h"
#include "fa3/Support/Tool.h"
#include "fa3/Tools/Mutate/MutateMain.h"
#include "mlir/IR/DialectRegistry.h"

int main(int argc, char **argv) {
  fa3::initTool();
  mlir::DialectRegistry registry;
  fa3::registerAllDialects(registry);
  fa3::registerAllPasses();
  return fa3::mutate::mutateMain(argc, argv, registry);
}
