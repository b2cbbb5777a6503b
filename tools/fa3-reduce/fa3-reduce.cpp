//===- fa3-reduce.cpp - makes a failing module smaller --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/InitAllDialects.h"
#include "fa3/InitAllPasses.h"
#include "fa3/Pipelines/PassText.h"
#include "fa3/Support/ModuleText.h"
#include "fa3/Support/Tool.h"
#include "fa3/Tools/Mutate/Mutate.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

/// Looks at the module before MLIR parses it: the argument that is no option
/// and no value of one. A tester gets files of what is left of it.
static mlir::LogicalResult checkInput(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    if (argument.starts_with("-") && argument != "-") {
      llvm::StringRef name = argument.ltrim('-');
      i += llvm::is_contained({"test", "test-arg", "o"}, name);
      continue;
    }
    if (!llvm::sys::fs::is_regular_file(argument))
      continue;
    auto buffer = llvm::MemoryBuffer::getFile(argument);
    if (buffer && failed(fa3::printModuleTextFault(**buffer)))
      return mlir::failure();
  }
  return mlir::success();
}

int main(int argc, char **argv) {
  fa3::initTool();
  mlir::DialectRegistry registry;
  fa3::registerAllDialects(registry);
  mlir::registerTransformsPasses();
  fa3::registerAllPasses();
  fa3::mutate::registerMutationPasses();
  if (failed(checkInput(argc, argv)))
    return 1;
  if (auto wrong = fa3::explainPassArguments({argv + 1, argv + argc})) {
    llvm::errs() << "fa3-reduce: error: " << *wrong << '\n';
    return 1;
  }
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}
