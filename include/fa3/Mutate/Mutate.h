//===- Mutate.h - deliberate faults in kernels ------------------*- C++ -*-===//
//
// A fault kind finds the places of a module where it can be made and makes it
// at one of them. What verifiers, checkers and the interpreter are worth is
// measured by the faults they find (see docs/Testing.md).
//
//===----------------------------------------------------------------------===//

#ifndef FA3_MUTATE_MUTATE_H
#define FA3_MUTATE_MUTATE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <vector>

namespace fa3::mutate {

/// A place of a fault: the operation that is changed, and the change.
struct Place {
  mlir::Operation *op;
  std::function<void()> apply;
};
using Places = std::vector<Place>;

struct FaultKind {
  llvm::StringRef name, summary;
  void (*collect)(mlir::ModuleOp module, Places &places);
};

/// Faults in the synchronisation of the hopper dialect, after
/// hopper-allocate-smem.
llvm::ArrayRef<FaultKind> getHopperFaults();
/// Faults in the use of rings, in specialised kernels of the tile dialect.
llvm::ArrayRef<FaultKind> getTileFaults();

/// Registers the passes hopper-mutate and tile-mutate, which are for tests.
void registerMutationPasses();

} // namespace fa3::mutate

#endif // FA3_MUTATE_MUTATE_H
