//===- fa3-translate.cpp - MLIR to PTX and manifest -----------------------===//

#include "fa3/Translate/TranslateMain.h"

int main(int argc, char **argv) { return fa3::translateMain(argc, argv); }
