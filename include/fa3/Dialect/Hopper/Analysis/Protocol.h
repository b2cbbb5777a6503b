//===- Protocol.h - proves the protocol of a kernel -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Barriers, copies and products of a kernel cannot deadlock, race or mix up
// phases. What that rests on is in docs/Protocol.md.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_HOPPER_ANALYSIS_PROTOCOL_H
#define FA3_DIALECT_HOPPER_ANALYSIS_PROTOCOL_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/raw_ostream.h"

namespace fa3::hopper {

/// Checks a kernel; emits located errors. Kernels without groups pass.
/// `numStates` counts the relative states that were explored; no part, nor the
/// whole, may have more than `mostStates`.
mlir::LogicalResult checkProtocol(mlir::gpu::GPUFuncOp function,
                                  int64_t mostStates, int64_t &numStates);

/// Writes a drawing of one iteration of the kernel's longest loop with
/// products: what happens before what, between groups, copies and the tensor
/// core. SVG.
mlir::LogicalResult drawHappensBefore(mlir::gpu::GPUFuncOp function,
                                      llvm::raw_ostream &out);

} // namespace fa3::hopper

#endif // FA3_DIALECT_HOPPER_ANALYSIS_PROTOCOL_H
