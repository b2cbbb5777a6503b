//===- HopperResources.h - units that operations occupy ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What an operation of a kernel asks of the multiprocessor, by its type alone.
// Knows instructions, not algorithms. Figures are those of
// fa3/Machine/Chip.h.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_HOPPER_ANALYSIS_HOPPERRESOURCES_H
#define FA3_DIALECT_HOPPER_ANALYSIS_HOPPERRESOURCES_H

#include "fa3/Dialect/Hopper/IR/Hopper.h"

namespace fa3::hopper {

/// Units that warp groups of a multiprocessor share.
enum class Unit { Issue, Fma, Alu, Sfu, Shared, Tensor, Copy };
constexpr unsigned kNumUnits = 7;
llvm::StringRef getName(Unit unit);

/// Times in cycles.
struct ResourceUse {
  /// Issue slots of each warp.
  int64_t issue = 0;
  /// A unit and how long it is occupied.
  Unit unit = Unit::Issue;
  int64_t cycles = 0;
  /// Until the result can be used, after the unit is done.
  int64_t latency = 0;
  /// Whether what follows needs all of the result, so that nothing overlaps
  /// with it: an exchange between lanes, a load.
  bool isAwaited = false;

  explicit operator bool() const { return issue || cycles || latency; }
};

/// What a group of full warps asks for when it executes an operation. Products,
/// copies and barriers are not in here: they have times of their own. Scalars
/// are free.
ResourceUse getResourceUse(mlir::Operation *op);

/// Cycles of the tensor core for all instructions of a product, and their
/// number.
int64_t getTensorCycles(WgmmaOp product);
int64_t getNumInstructions(WgmmaOp product);

/// Cycles that TMA is occupied by a copy.
int64_t getCopyCycles(int64_t bytes, const Chip &chip);

} // namespace fa3::hopper

#endif // FA3_DIALECT_HOPPER_ANALYSIS_HOPPERRESOURCES_H
