//===- RunText.h - libfa3: PTX on the CPU -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_COMPILER_RUNTEXT_H
#define FA3_LIB_COMPILER_RUNTEXT_H

#include "Result.h"
#include "fa3/Interp/Interpreter.h"

namespace fa3::compiler {

/// Runs PTX on copies of the arguments of a call, `values`, and says which of
/// them it reads and writes. What the executor finds is a diagnostic.
fa3_outcome runText(Call &call, const fa3_result::Function &code,
                    llvm::ArrayRef<fa3_arg> args,
                    llvm::MutableArrayRef<interp::Argument> values,
                    llvm::SmallVectorImpl<interp::Access> &accesses);

} // namespace fa3::compiler

#endif // FA3_LIB_COMPILER_RUNTEXT_H
