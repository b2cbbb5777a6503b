//===- Tool.cpp - what the command lines of the tools share ---------------===//

#include "fa3/Support/Tool.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;

void fa3::initTool() {
  // What is registered by now comes from static initializers of LLVM: hundreds
  // of switches of its optimizer and code generators.
  for (auto &[name, option] : cl::getRegisteredOptions())
    if (option->getOptionHiddenFlag() == cl::NotHidden && name != "help" &&
        name != "version")
      option->setHiddenFlag(cl::Hidden);
  // Kernels have thousands of lines; a diagnostic points at the one it is
  // about.
  mlir::registerMLIRContextCLOptions();
  static_cast<cl::opt<bool> *>(
      cl::getRegisteredOptions().lookup("mlir-print-op-on-diagnostic"))
      ->setInitialValue(false);
  cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "fa3 " FA3_VERSION ", LLVM " LLVM_VERSION_STRING "\n";
  });
}
