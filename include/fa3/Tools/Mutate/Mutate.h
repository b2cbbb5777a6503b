//===- Mutate.h - mutants of kernels ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A mutant kind finds the places of a module where it can be made and makes it
// at one of them. What verifiers, checkers and the interpreter are worth is
// measured by the mutants they find (see docs/Testing.md).
//===----------------------------------------------------------------------===//

#ifndef FA3_TOOLS_MUTATE_MUTATE_H
#define FA3_TOOLS_MUTATE_MUTATE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <vector>

namespace fa3::mutate {

/// A place of a mutant: the operation that is changed, and the change.
struct Place {
  mlir::Operation *op;
  std::function<void()> apply;
};
using Places = std::vector<Place>;

struct MutantKind {
  llvm::StringRef name, summary;
  void (*collect)(mlir::ModuleOp module, Places &places);
};

/// Mutants of the synchronization of the hopper dialect, after
/// hopper-allocate-smem.
llvm::ArrayRef<MutantKind> getHopperMutants();
/// Mutants of the use of rings, in specialized kernels of the tile dialect.
llvm::ArrayRef<MutantKind> getTileMutants();

/// Registers the passes hopper-mutate and tile-mutate, which are for tests.
void registerMutationPasses();

} // namespace fa3::mutate

#endif // FA3_TOOLS_MUTATE_MUTATE_H
