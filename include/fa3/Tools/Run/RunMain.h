//===- RunMain.h - the tool fa3-run -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TOOLS_RUN_RUNMAIN_H
#define FA3_TOOLS_RUN_RUNMAIN_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fa3::run {

/// Parses the command line, runs a module and reports. The exit code.
int runMain(int argc, char **argv, mlir::DialectRegistry &registry);

} // namespace fa3::run

#endif // FA3_TOOLS_RUN_RUNMAIN_H
