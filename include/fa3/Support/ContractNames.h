//===- ContractNames.h - attribute names of the launch contract -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Names that both the passes on the attention dialect and the tile dialect
// give to arguments of host functions; here so that neither links the other.
//===----------------------------------------------------------------------===//

#ifndef FA3_SUPPORT_CONTRACTNAMES_H
#define FA3_SUPPORT_CONTRACTNAMES_H

#include "llvm/ADT/StringRef.h"

namespace fa3 {

/// Name of an argument of a host function, a string.
inline constexpr llvm::StringLiteral kArgumentNameAttr = "tile.name";
/// Names of the dimensions of a memref argument, an array of strings.
inline constexpr llvm::StringLiteral kArgumentDimsAttr = "tile.dims";

/// On a module of kernels, or on one of them, a string: the passes on LLVM IR
/// that a translation runs if it is not told others. Changes time only.
inline constexpr llvm::StringLiteral kLLVMPassesAttr = "hopper.llvm_passes";

} // namespace fa3

#endif // FA3_SUPPORT_CONTRACTNAMES_H
