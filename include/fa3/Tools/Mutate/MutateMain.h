//===- MutateMain.h - the tool fa3-mutate -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TOOLS_MUTATE_MUTATEMAIN_H
#define FA3_TOOLS_MUTATE_MUTATEMAIN_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fa3::mutate {

/// Makes every mutant at every place of every kernel of a sample and prints
/// what became of them. The exit code is 1 if one was missed.
int mutateMain(int argc, char **argv, mlir::DialectRegistry &registry);

} // namespace fa3::mutate

#endif // FA3_TOOLS_MUTATE_MUTATEMAIN_H
