//===- Dependence.h - kernels that start before others end ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Programmatic dependent launch (CUDA C++ Programming Guide, "Programmatic
// Dependent Launch and Synchronization"; PTX ISA, "griddepcontrol"): a kernel
// may be started while the one in front of it still runs. It then waits
// (`nvvm.griddepcontrol wait`) until that one has ended and its writes are
// visible. All threads of all blocks wait before they touch memory, so it
// neither reads what is not there yet nor overwrites what is still read, and
// once it has ended, so has all that was in front of it.
//
// Or it waits for blocks of the one in front of it, by flags that these set
// (`hopper.flag.await`), and reads nothing else of what that one writes. Its
// last block waits in the end, so that it does not end first.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_HOPPER_ANALYSIS_DEPENDENCE_H
#define FA3_DIALECT_HOPPER_ANALYSIS_DEPENDENCE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fa3::hopper {

/// Whether an operation, or one in its regions, takes an address or a tensor
/// map of global memory.
bool touchesGlobalMemory(mlir::Operation *op);

/// Whether a kernel, before or after its lowering, waits for those in front of
/// it.
bool waitsForPredecessors(mlir::Operation *kernel);

/// Waits stand where all threads of a kernel pass, and nothing in front of the
/// first one touches global memory. A kernel that waits for flags has one in
/// the end.
mlir::LogicalResult verifyPredecessorWaits(mlir::gpu::GPUFuncOp kernel);

/// A flag is cleared in front of the groups, and set behind them and a barrier,
/// when bulk stores are complete; nothing lets the next kernel start before.
/// Flags are awaited in front of the groups, and for copies, where there are
/// some.
mlir::LogicalResult verifyFlags(mlir::gpu::GPUFuncOp kernel);

} // namespace fa3::hopper

#endif // FA3_DIALECT_HOPPER_ANALYSIS_DEPENDENCE_H
