//===- AssignSums.h - sums of a kernel among groups -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_GROUPS_ASSIGNSUMS_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_GROUPS_ASSIGNSUMS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fa3::tile {

/// Gives sums that one warp group has no registers for, with all that depends
/// on them, the roles "math1" and on. Returns how many sums that are.
int64_t assignSums(mlir::gpu::GPUFuncOp kernel);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_GROUPS_ASSIGNSUMS_H
