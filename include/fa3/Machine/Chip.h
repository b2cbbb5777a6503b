//===- Chip.h - what a chip has and how fast it is --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Limits and rates of one streaming multiprocessor, as a value: another chip is
// another value. Nothing here knows an operation or a type. What ptxas makes of
// these limits is in RegisterModel.h.
//===----------------------------------------------------------------------===//

#ifndef FA3_MACHINE_CHIP_H
#define FA3_MACHINE_CHIP_H

#include "llvm/Support/MathExtras.h"
#include <cstdint>

namespace mlir {
class Operation;
} // namespace mlir

namespace fa3 {

struct Chip {
  const char *name;

  // Threads.
  int64_t threadsPerWarp, warpsPerWarpgroup, maxThreadsPerBlock;

  // Registers of the multiprocessor. A thread has a multiple of the granule
  // when registers are moved between warp groups, at least `leastRegisters`.
  int64_t registers, maxRegistersPerThread, registerGranule, leastRegisters;

  /// Bytes of shared memory, and those that a block can have.
  int64_t sharedMemoryBytes, maxSharedMemoryBytes;

  /// Barriers of threads; number 0 is that of the whole block.
  int64_t namedBarriers;
  /// Largest count of arrivals, and of bytes, of an mbarrier.
  int64_t maxBarrierCount;

  // One product instruction takes so many rows of its left operand and bytes
  // of each. Lanes of a warp that share a row, and those that share a column,
  // of an accumulator.
  int64_t productRows, productBytes, lanesPerRow, lanesPerColumn;

  // Rates, in cycles of the multiprocessor's clock.

  /// Multiply-adds of 16-bit elements per cycle.
  int64_t tensorMacs16;
  /// From the last cycle of a product to the wait that returns.
  int64_t tensorLatency;
  /// Issue of one product instruction, and how many may be outstanding before
  /// the next one blocks.
  int64_t tensorIssue, tensorOutstanding;
  /// Cycles that a warp instruction occupies its unit, in one quarter of the
  /// multiprocessor, which runs one warp of every warp group.
  int64_t fmaCycles, aluCycles, sfuCycles, convertCycles, shuffleCycles;
  /// Until a result that lanes exchanged can be used.
  int64_t shuffleLatency;
  /// Bytes of shared memory per cycle.
  int64_t sharedBytes;
  /// Bytes per cycle that a multiprocessor gets from L2 while all of them load,
  /// and the time until a copy that finds the way free has landed.
  int64_t copyBytes, copyLatency;
  /// Loads and atomics of threads.
  int64_t globalLatency;
  /// From the last arrival to the return of a wait.
  int64_t barrierLatency;

  constexpr int64_t getThreadsPerWarpgroup() const {
    return threadsPerWarp * warpsPerWarpgroup;
  }
  /// Registers of a thread when a block of so many threads starts.
  int64_t getEntryRegisters(int64_t threads) const {
    return llvm::alignDown(registers / threads, registerGranule);
  }
};

/// Limits: CUDA C Programming Guide, "Compute Capabilities"; PTX ISA, "bar",
/// "mbarrier", "setmaxnreg" and "wgmma". Cycles of instructions: CUDA C
/// Programming Guide, "Arithmetic Instructions". Products: m64n256k16 takes 128
/// cycles, as m64n128k16 was measured to take 64, and 127 from its issue; 8
/// with n 128 were issued in 112 cycles (docs/Performance.md). Copies: orders
/// of magnitude; docs/Trace.md says how they compare.
constexpr Chip makeSm90a() {
  Chip chip{};
  chip.name = "sm_90a";
  chip.threadsPerWarp = 32;
  chip.warpsPerWarpgroup = 4;
  chip.maxThreadsPerBlock = 1024;
  chip.registers = 65536;
  chip.maxRegistersPerThread = 255;
  chip.registerGranule = 8;
  chip.leastRegisters = 24;
  chip.sharedMemoryBytes = 233472;
  chip.maxSharedMemoryBytes = 232448;
  chip.namedBarriers = 16;
  chip.maxBarrierCount = (1 << 20) - 1;
  chip.productRows = 64;
  chip.productBytes = 32;
  chip.lanesPerRow = 4;
  chip.lanesPerColumn = 8;
  chip.tensorMacs16 = 2048;
  chip.tensorLatency = 64;
  chip.tensorIssue = 14;
  chip.tensorOutstanding = 8;
  chip.fmaCycles = 1;
  chip.aluCycles = 2;
  chip.sfuCycles = 8;
  chip.convertCycles = 2;
  chip.shuffleCycles = 4;
  chip.shuffleLatency = 24;
  chip.sharedBytes = 128;
  chip.copyBytes = 32;
  chip.copyLatency = 600;
  chip.globalLatency = 600;
  chip.barrierLatency = 20;
  return chip;
}
inline constexpr Chip kSm90a = makeSm90a();

/// Shared memory that passes plan with by default: what is left beside
/// barriers, mailboxes and alignment. The choice of tiles leaves as much again.
inline constexpr int64_t kReservedSharedBytes = 1024;
inline constexpr int64_t kSharedMemoryBudget =
    kSm90a.maxSharedMemoryBytes - kReservedSharedBytes;

/// The chip that an operation is compiled for. Every module is for sm_90a
/// today; passes ask here, so that a module can say otherwise.
inline const Chip &getChip(mlir::Operation *) { return kSm90a; }

} // namespace fa3

#endif // FA3_MACHINE_CHIP_H
