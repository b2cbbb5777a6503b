//===- fa3-tune.cpp - options by cost model and measurement ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/InitAllDialects.h"
#include "fa3/Support/Tool.h"
#include "fa3/Tools/Tune/TuneMain.h"
#include "mlir/IR/DialectRegistry.h"

int main(int argc, char **argv) {
  fa3::initTool();
  mlir::DialectRegistry registry;
  fa3::registerAllDialects(registry);
  return fa3::tune::tuneMain(argc, argv, registry);
}
