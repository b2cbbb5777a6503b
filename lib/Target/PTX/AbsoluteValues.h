//===- AbsoluteValues.h - absolute values that ptxas gets right -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_TARGET_PTX_ABSOLUTEVALUES_H
#define FA3_LIB_TARGET_PTX_ABSOLUTEVALUES_H

namespace llvm {
class Module;
} // namespace llvm

namespace fa3 {

/// Makes instructions abs.s32 and abs.s64 of PTX of absolute values of
/// integers: of llvm.abs, and of the larger and the smaller of a number and its
/// negative. LLVM would emit neg and max, and from a maximum of two of these
/// ptxas 13.0 (and the compiler in driver 580) makes code for sm_90a whose
/// result is wrong, at every level of optimization: max(|a|, |b|) < 4 held for
/// a = -4. Runs after the passes of LLVM, which know nothing of the
/// instruction.
void useAbsInstructions(llvm::Module &module);

} // namespace fa3

#endif // FA3_LIB_TARGET_PTX_ABSOLUTEVALUES_H
