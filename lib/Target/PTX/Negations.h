//===- Negations.h - negations that ptxas does not lose ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_TARGET_PTX_NEGATIONS_H
#define FA3_LIB_TARGET_PTX_NEGATIONS_H

namespace llvm {
class Module;
} // namespace llvm

namespace fa3 {

/// Hides negations of 32-bit integers from ptxas where they may reach a minimum
/// or maximum. Of max(max(a, -b), c) ptxas 13.0, and the compiler in driver
/// 580, makes one instruction of sm_90a in which the negation of b is lost,
/// from -O1 on; likewise of minima. (docs/experiments/negations-in-maxima.md
/// has what is right and what is wrong.) LLVM writes |x| as max(x, -x), and two
/// comparisons as one of a maximum. So absolute values become abs.s32, and
/// other negations that minima, maxima, comparisons and selects use become ~x
/// + 1. Runs after the passes of LLVM, which know nothing of these
/// instructions.
void hideNegations(llvm::Module &module);

} // namespace fa3

#endif // FA3_LIB_TARGET_PTX_NEGATIONS_H
