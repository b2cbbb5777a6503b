//===- Tool.h - what the command lines of the tools share -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_SUPPORT_TOOL_H
#define FA3_SUPPORT_TOOL_H

namespace fa3 {

/// Called first in main: `--help` lists only the options that are registered
/// after it (LLVM's own are still accepted, and listed by `--help-hidden`), and
/// `--version` tells the version of fa3 beside that of LLVM. Diagnostics do not
/// print the operation they are about, unless --mlir-print-op-on-diagnostic. A
/// tool that finds no memory says so and ends with exit code 1.
void initTool();

} // namespace fa3

#endif // FA3_SUPPORT_TOOL_H
