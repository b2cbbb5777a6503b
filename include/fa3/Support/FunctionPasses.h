//===- FunctionPasses.h - passes on the LLVM IR of a kernel -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Words for passes that run on one function, so that kernels of a module may
// differ in them; here so that the pipelines do not link the translation.
//===----------------------------------------------------------------------===//

#ifndef FA3_SUPPORT_FUNCTIONPASSES_H
#define FA3_SUPPORT_FUNCTIONPASSES_H

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace fa3 {

/// A word of `llvm-passes` and the function passes that it stands for, as LLVM
/// parses them.
struct FunctionPasses {
  llvm::StringLiteral word, pipeline;
};

/// "small": verification of the fixpoint is for tests of instcombine, it
/// aborts.
inline constexpr FunctionPasses kFunctionPasses[] = {
    {"none", ""},
    {"rows", "fa3-order-rows"},
    {"small", "sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg"}};

/// The pipeline of a word, nothing for what is none of them.
inline std::optional<llvm::StringRef> getFunctionPasses(llvm::StringRef word) {
  for (const FunctionPasses &passes : kFunctionPasses)
    if (passes.word == word)
      return passes.pipeline;
  return std::nullopt;
}

} // namespace fa3

#endif // FA3_SUPPORT_FUNCTIONPASSES_H
