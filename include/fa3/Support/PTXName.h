//===- PTXName.h - names of kernels in PTX ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A symbol of MLIR is any string; PTX has identifiers of a few characters.
//===----------------------------------------------------------------------===//

#ifndef FA3_SUPPORT_PTXNAME_H
#define FA3_SUPPORT_PTXNAME_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace fa3 {

/// Whether `name` is an identifier of PTX (PTX ISA, "Identifiers") that LLVM
/// writes as it is.
inline bool isPTXName(llvm::StringRef name) {
  auto isFollowing = [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '$';
  };
  // The one identifier that PTX defines, and what hopper-to-nvvm calls shared
  // memory.
  if (name.empty() || name == "WARP_SZ" || name == "dynamic_smem" ||
      !llvm::all_of(name, isFollowing))
    return false;
  return llvm::isAlpha(name.front()) ||
         (!llvm::isDigit(name.front()) && name.size() > 1);
}

/// `name` if PTX can have it, else one like it: other characters become
/// underscores. A number follows while a name is taken.
inline std::string
getPTXName(llvm::StringRef name,
           llvm::function_ref<bool(llvm::StringRef)> isTaken) {
  if (isPTXName(name))
    return name.str();
  std::string base;
  for (char c : name)
    base += llvm::isAlnum(c) || c == '$' ? c : '_';
  if (!isPTXName(base))
    base = "kernel_" + base;
  std::string unique = base;
  for (unsigned i = 1; isTaken(unique); ++i)
    unique = base + "_" + std::to_string(i);
  return unique;
}

} // namespace fa3

#endif // FA3_SUPPORT_PTXNAME_H
