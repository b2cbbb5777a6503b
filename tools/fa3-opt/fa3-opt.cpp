//===- fa3-opt.cpp - runs passes on a module ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/InitAllDialects.h"
#include "fa3/InitAllPasses.h"
#include "fa3/Support/Tool.h"
#include "fa3/Tools/Mutate/Mutate.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  fa3::initTool();
  mlir::DialectRegistry registry;
  fa3::registerAllDialects(registry);
  mlir::registerTransformsPasses();
  fa3::registerAllPasses();
  fa3::mutate::registerMutationPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "fa3 optimizer driver\n", registry));
}
