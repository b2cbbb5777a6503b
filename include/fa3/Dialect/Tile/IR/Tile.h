//===- Tile.h - the tile dialect --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// How one CTA computes; see TileBase.td.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_TILE_IR_TILE_H
#define FA3_DIALECT_TILE_IR_TILE_H

#include "fa3/Dialect/Warp/IR/Warp.h"
#include "fa3/Layout/LinearLayout.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

namespace fa3::tile {

struct TensorCoreResource
    : public mlir::SideEffects::Resource::Base<TensorCoreResource> {
  llvm::StringRef getName() final { return "TensorCore"; }
};
struct SlotMemoryResource
    : public mlir::SideEffects::Resource::Base<SlotMemoryResource> {
  llvm::StringRef getName() final { return "SlotMemory"; }
};

/// Whether `type` is a tile value: a tensor of rank 1 or 2, static, of scalars.
bool isTile(mlir::Type type);

} // namespace fa3::tile

#include "fa3/Dialect/Tile/IR/TileAttrInterfaces.h.inc"
#include "fa3/Dialect/Tile/IR/TileDialect.h.inc"
#include "fa3/Dialect/Tile/IR/TileEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "fa3/Dialect/Tile/IR/TileAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "fa3/Dialect/Tile/IR/TileTypes.h.inc"
#define GET_OP_CLASSES
#include "fa3/Dialect/Tile/IR/TileOps.h.inc"

namespace fa3::tile {

/// The tile behind a tile, view or pending type; null for other types.
mlir::RankedTensorType getTileType(mlir::Type type);

/// `like` with another tile inside: a tile, view or pending type.
mlir::Type withTileType(mlir::Type like, mlir::RankedTensorType tile);

/// M, N and K of a product whose operands are given in these orders.
struct DotShape {
  int64_t m, n, k;
};
DotShape getDotShape(mlir::RankedTensorType lhs, mlir::RankedTensorType rhs,
                     LhsOrder lhsOrder, RhsOrder rhsOrder);

/// The register layout of a tile type; empty without a layout encoding.
std::optional<LinearLayout> getLinearLayout(mlir::RankedTensorType type);

/// Rows after which the swizzle of shared memory repeats. A tile of rank 1 is
/// the first of so many.
constexpr int64_t kSwizzleRows = 8;

/// How a tensor that a ring carries is laid out in shared memory: the widest
/// swizzle that its columns fill.
SmemAttr getDefaultStorage(mlir::RankedTensorType type);

/// Whether an entry of a ring has a single number there (`tile.post`).
bool isNumber(mlir::Type type);

/// Whether `op` works on each element by itself: arith and math on tiles,
/// splats and constants.
bool isElementwise(mlir::Operation *op);

} // namespace fa3::tile

#endif // FA3_DIALECT_TILE_IR_TILE_H
