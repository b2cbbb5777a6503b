//===- TileExactOps.cpp - sums of integers in memory ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "fa3/Dialect/Tile/IR/TileExactOps.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

#define GET_OP_CLASSES
#include "fa3/Dialect/Tile/IR/TileExactOps.cpp.inc"

/// An array of sums, with an index for each dimension but that of words.
static LogicalResult verifySums(Operation *op, MemRefType memref,
                                ValueRange indices) {
  SmallVector<int64_t> strides;
  int64_t offset;
  int64_t rank = memref.getRank();
  if (!memref.getElementType().isInteger(64) || rank == 0 ||
      memref.getShape().back() != kExactWords ||
      failed(memref.getStridesAndOffset(strides, offset)) ||
      strides.back() != 1)
    return op->emitOpError("expects sums of ")
           << kExactWords << " words of i64 one behind the other, got "
           << memref;
  if (static_cast<int64_t>(indices.size()) != rank - 1)
    return op->emitOpError("expects one index per dimension of the memref but "
                           "the last (")
           << rank - 1 << "), got " << indices.size();
  return success();
}

LogicalResult AddExactOp::verify() {
  RankedTensorType value = getValue().getType();
  if (value.getRank() != 2 || !value.getElementType().isF32())
    return emitOpError("expects a tile of rank 2 of f32, got ") << value;
  bool hasTile = false;
  for (Type type : getIndices().getTypes()) {
    auto tile = dyn_cast<RankedTensorType>(type);
    hasTile |= tile != nullptr;
    if (tile && (!tile.getElementType().isIndex() ||
                 tile.getShape() != value.getShape() ||
                 tile.getEncoding() != value.getEncoding()))
      return emitOpError("expects tiles of index like the tile of terms (")
             << value << "), got " << tile;
  }
  if (!hasTile)
    return emitOpError("expects an index that is a tile");
  return verifySums(*this, cast<MemRefType>(getSums().getType()), getIndices());
}

LogicalResult LoadExactOp::verify() {
  RankedTensorType tile = getResult().getType();
  if (tile.getRank() != 1 || !tile.getElementType().isF32())
    return emitOpError("expects a tile of rank 1 of f32, got ") << tile;
  if (getIndices().empty())
    return emitOpError("expects an index");
  return verifySums(*this, cast<MemRefType>(getSums().getType()), getIndices());
}
