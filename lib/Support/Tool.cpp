//===- Tool.cpp - what the command lines of the tools share ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Support/Tool.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include <unistd.h>

namespace cl = llvm::cl;

/// Memory is no more a reason for a stack dump than a wrong option.
static void reportNoMemory(void *, const char *, bool) {
  static const char message[] = "error: out of memory\n";
  ssize_t ignored = write(STDERR_FILENO, message, sizeof(message) - 1);
  (void)ignored;
  _exit(1);
}

void fa3::initTool() {
  llvm::install_bad_alloc_error_handler(reportNoMemory);
  llvm::install_out_of_memory_new_handler();
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
