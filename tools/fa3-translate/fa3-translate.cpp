//===- fa3-translate.cpp - MLIR to PTX and manifest -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Support/Tool.h"
#include "fa3/Tools/Translate/TranslateMain.h"

int main(int argc, char **argv) {
  fa3::initTool();
  return fa3::translateMain(argc, argv);
}
