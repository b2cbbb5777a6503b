//===- TileFlagOps.cpp - tiles that another kernel waits for --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "fa3/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace fa3::tile;

/// An array of flags, with an index for each dimension but so many in front.
static LogicalResult verifyFlags(Operation *op, Type type, ValueRange indices,
                                 int64_t without) {
  auto memref = cast<MemRefType>(type);
  if (!memref.getElementType().isInteger(32))
    return op->emitOpError("expects flags of i32, got ") << memref;
  int64_t expected = memref.getRank() - without;
  if (static_cast<int64_t>(indices.size()) == expected)
    return success();
  return op->emitOpError("expects one index per dimension of the memref")
         << (without ? " but the first" : "") << " (" << expected << "), got "
         << indices.size();
}

LogicalResult ClearFlagOp::verify() {
  return verifyFlags(*this, getFlags().getType(), getIndices(), 0);
}

LogicalResult SetFlagOp::verify() {
  return verifyFlags(*this, getFlags().getType(), getIndices(), 0);
}

LogicalResult AwaitFlagsOp::verify() {
  return verifyFlags(*this, getFlags().getType(), getIndices(), 1);
}
