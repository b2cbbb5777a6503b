//===- Output.cpp - files that are written whole or not at all ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Output.h"
#include "Fail.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace fa3;

LogicalResult run::writeOutput(StringRef path,
                               llvm::function_ref<void(raw_ostream &)> print) {
  std::string message;
  auto file = openOutputFile(path, &message);
  if (!file)
    return fail(message);
  llvm::raw_fd_ostream &os = file->os();
  print(os);
  os.flush();
  if (os.has_error()) {
    std::error_code error = os.error();
    // Otherwise its destructor ends the program.
    os.clear_error();
    return fail("cannot write " + path + ": " + error.message());
  }
  file->keep();
  return success();
}
