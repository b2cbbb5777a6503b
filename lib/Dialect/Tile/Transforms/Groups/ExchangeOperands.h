//===- ExchangeOperands.h - computed tiles through rings --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_GROUPS_EXCHANGEOPERANDS_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_GROUPS_EXCHANGEOPERANDS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fa3::tile {

/// Whether a tile has the type of another one and is computed behind a loop
/// that computes that.
bool comesBehind(mlir::Value behind, mlir::Value inside);

/// Lets what further groups use and "math" computes go through rings. Returns
/// how many.
llvm::FailureOr<int64_t> exchangeBetweenRoles(mlir::gpu::GPUFuncOp kernel);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_GROUPS_EXCHANGEOPERANDS_H
