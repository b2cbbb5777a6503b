//===- TuneMain.h - the tool fa3-tune ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TOOLS_TUNE_TUNEMAIN_H
#define FA3_TOOLS_TUNE_TUNEMAIN_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fa3::tune {

/// The main function of fa3-tune.
int tuneMain(int argc, char **argv, mlir::DialectRegistry &registry);

} // namespace fa3::tune

#endif // FA3_TOOLS_TUNE_TUNEMAIN_H
