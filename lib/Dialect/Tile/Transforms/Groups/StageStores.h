//===- StageStores.h - stores by bulk copies --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_GROUPS_STAGESTORES_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_GROUPS_STAGESTORES_H

#include "fa3/Options/Options.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fa3::tile {

/// Turns stores of 16-bit tiles of rank 2 into bulk copies from shared memory
/// by a policy of tile-make-async: `staged`, `in-place`, `auto` or `direct`,
/// which leaves all as they are. How many it turned.
llvm::FailureOr<int64_t> stageStores(mlir::gpu::GPUFuncOp kernel,
                                     options::Store policy, int64_t smemBudget);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_GROUPS_STAGESTORES_H
