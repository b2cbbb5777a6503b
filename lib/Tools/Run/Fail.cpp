//===- Fail.cpp - errors without a place in a module ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Fail.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fa3;

LogicalResult run::fail(const Twine &message) {
  llvm::WithColor::error(llvm::errs(), "fa3-run") << message << '\n';
  return failure();
}

LogicalResult run::check(fa3_code code, const fa3_status &status) {
  if (code == FA3_OK)
    return success();
  return fail(Twine(fa3_code_name(code)) + ": " + status.message);
}
