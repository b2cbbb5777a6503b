//===- fa3-opt.cpp - runs passes on a module ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/InitAllDialects.h"
#include "fa3/InitAllPasses.h"
#include "fa3/Pipelines/PassText.h"
#include "fa3/Support/ModuleText.h"
#include "fa3/Support/Tool.h"
#include "fa3/Tools/Mutate/Mutate.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

/// Prints an error of the tool itself. Always failure.
static LogicalResult fail(const llvm::Twine &message) {
  llvm::errs() << "fa3-opt: error: " << message << '\n';
  return failure();
}

/// What mlir-opt does with files; an output that cannot be written is named.
static LogicalResult run(llvm::StringRef inputName, llvm::StringRef outputName,
                         DialectRegistry &registry) {
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects()) {
    llvm::outs() << "Available Dialects: ";
    llvm::interleaveComma(registry.getDialectNames(), llvm::outs());
    llvm::outs() << '\n';
    return success();
  }
  if (config.shouldListPasses()) {
    printRegisteredPasses();
    return success();
  }
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> input =
      openInputFile(inputName, &message);
  if (!input)
    return fail(message);
  if (failed(fa3::printModuleTextFault(*input)))
    return failure();
  std::unique_ptr<llvm::ToolOutputFile> output =
      openOutputFile(outputName, &message);
  if (!output)
    return fail(message);
  if (failed(MlirOptMain(output->os(), std::move(input), registry, config)))
    return failure();
  output->os().flush();
  if (std::error_code error = output->os().error()) {
    output->os().clear_error();
    return fail("cannot write " + output->outputFilename() + ": " +
                error.message());
  }
  output->keep();
  return success();
}

int main(int argc, char **argv) {
  fa3::initTool();
  llvm::InitLLVM init(argc, argv);
  DialectRegistry registry;
  fa3::registerAllDialects(registry);
  registerTransformsPasses();
  fa3::registerAllPasses();
  fa3::mutate::registerMutationPasses();
  auto [input, output] = registerAndParseCLIOptions(
      argc, argv, "fa3 optimizer driver\n", registry);
  if (auto wrong = fa3::explainPassArguments({argv + 1, argv + argc}))
    return asMainReturnCode(fail(*wrong));
  return asMainReturnCode(run(input, output, registry));
}
