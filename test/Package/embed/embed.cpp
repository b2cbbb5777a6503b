// SPDX-License-Identifier: Apache-2.0
// fa3's pipeline after passes of one's own, in a program of one's own.
#include "fa3/InitAllDialects.h"
#include "fa3/Pipelines/Pipelines.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  mlir::DialectRegistry registry;
  fa3::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  mlir::PassManager passes(&context);
  passes.addPass(mlir::createCSEPass());
  fa3::PipelineOptions options;
  options.blockM = 128;
  fa3::buildLowerToNVVMPipeline(passes, options);
  if (failed(passes.run(*module)))
    return 1;
  module->print(llvm::outs());
  llvm::outs() << '\n';
  return 0;
}
