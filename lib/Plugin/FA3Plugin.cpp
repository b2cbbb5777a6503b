//===- FA3Plugin.cpp - fa3 for mlir-opt -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A module for `mlir-opt --load-dialect-plugin=.. --load-pass-plugin=..`: the
// dialects, the passes and the pipelines of fa3.
//===----------------------------------------------------------------------===//

#include "fa3/InitAllDialects.h"
#include "fa3/InitAllPasses.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "FA3Plugin", LLVM_VERSION_STRING,
          [](mlir::DialectRegistry *registry) {
            fa3::registerAllDialects(*registry);
          }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "FA3Plugin", LLVM_VERSION_STRING,
          [] { fa3::registerAllPasses(); }};
}
