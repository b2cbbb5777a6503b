//===- Output.h - files that are written whole or not at all ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_TOOLS_RUN_OUTPUT_H
#define FA3_LIB_TOOLS_RUN_OUTPUT_H

#include "mlir/Support/LLVM.h"

namespace fa3::run {

/// Writes a file; "-" is standard output. Says which one it was where that
/// fails, for example on a full disk.
mlir::LogicalResult
writeOutput(llvm::StringRef path,
            llvm::function_ref<void(llvm::raw_ostream &)> print);

} // namespace fa3::run

#endif // FA3_LIB_TOOLS_RUN_OUTPUT_H
