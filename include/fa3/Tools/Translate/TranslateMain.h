//===- TranslateMain.h - the tool fa3-translate -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TOOLS_TRANSLATE_TRANSLATEMAIN_H
#define FA3_TOOLS_TRANSLATE_TRANSLATEMAIN_H

namespace fa3 {

/// Reads MLIR at the end of the pipeline (or runs a pipeline first) and writes
/// PTX, LLVM IR or a cubin, with the manifest beside it.
int translateMain(int argc, char **argv);

} // namespace fa3

#endif // FA3_TOOLS_TRANSLATE_TRANSLATEMAIN_H
