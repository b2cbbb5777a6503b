//===- OperandCode.h - element code of operands -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_GROUPS_OPERANDCODE_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_GROUPS_OPERANDCODE_H

#include "fa3/Dialect/Tile/IR/Tile.h"

namespace fa3::tile {

/// What is computed of a loaded tile before products read it.
struct OperandCode {
  /// Elementwise operations, in order of the block.
  llvm::SmallVector<mlir::Operation *> operations;
  /// The result of the last one.
  mlir::Value result;
};

/// The element code between a load and the products whose left operand it
/// becomes, with the same type: of the tile and of constants alone, in the
/// block of the load, and of no other use. Nothing if there is none.
std::optional<OperandCode> findOperandCode(LoadOp load);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_GROUPS_OPERANDCODE_H
