// SPDX-License-Identifier: Apache-2.0
// A compiler with fa3's pipeline after passes of its own, on programs that have
// other operations around attention, and with a dialect that extends fa3.
#include "dialect.h"
#include "fa3/Dialect/Warp/Transforms/Passes.h"
#include "fa3/InitAllDialects.h"
#include "fa3/Pipelines/Pipelines.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include <cstring>

int main(int argc, char **argv) {
  bool check = argc == 3 && !std::strcmp(argv[1], "--check");
  if (argc != 2 && !check)
    return 2;
  mlir::DialectRegistry registry;
  fa3::registerAllDialects(registry);
  embed::registerDialect(registry);
  mlir::MLIRContext context(registry);
  // Whatever else a program has.
  context.allowUnregisteredDialects();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[argc - 1], &context);
  if (!module)
    return 1;
  mlir::PassManager passes(&context);
  if (check) {
    // Kernels of one's own, or of other passes: do their rings work?
    passes.nest<mlir::gpu::GPUModuleOp>().addPass(fa3::warp::createCheck());
  } else {
    passes.addPass(mlir::createCSEPass());
    fa3::PipelineOptions options;
    options.blockM = 128;
    fa3::buildLowerToNVVMPipeline(passes, options);
  }
  if (failed(passes.run(*module)))
    return 1;
  module->print(llvm::outs());
  llvm::outs() << '\n';
  return 0;
}
