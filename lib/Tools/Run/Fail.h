//===- Fail.h - errors without a place in a module --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_TOOLS_RUN_FAIL_H
#define FA3_LIB_TOOLS_RUN_FAIL_H

#include "fa3/Runtime/fa3_runtime.h"
#include "mlir/Support/LLVM.h"

namespace fa3::run {

/// Prints "fa3-run: error: MESSAGE".
mlir::LogicalResult fail(const llvm::Twine &message);

/// Fails with the message of a call of the runtime unless `code` is FA3_OK.
mlir::LogicalResult check(fa3_code code, const fa3_status &status);

} // namespace fa3::run

#endif // FA3_LIB_TOOLS_RUN_FAIL_H
