//===- OrderedOps.cpp - additions in one order ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "fa3/Dialect/Tile/IR/OrderedOps.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

#define GET_OP_CLASSES
#include "fa3/Dialect/Tile/IR/TileOrderedOps.cpp.inc"

/// An element for each replica of the tile at the indices.
template <typename OpType>
static LogicalResult verifyProgress(OpType op) {
  auto progress = cast<MemRefType>(op.getProgress().getType());
  if (!progress.getElementType().isInteger(32))
    return op.emitOpError("expects progress of i32, got ") << progress;
  int64_t indices = op.getNumber().size();
  if (indices == 0 || indices + 1 != progress.getRank())
    return op.emitOpError("expects one index per dimension of the progress but "
                          "the last (")
           << progress.getRank() - 1 << "), at least one, got " << indices;
  return success();
}

LogicalResult OrderedOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  if (!source.getElementType().isF32())
    return emitOpError("expects an array of f32, got ") << source;
  for (OpOperand &use : getResult().getUses()) {
    auto store = dyn_cast<StoreOp>(use.getOwner());
    auto copy = dyn_cast<StoreAsyncOp>(use.getOwner());
    bool adds = (store && store.getAdd() && store.getTarget() == use.get()) ||
                (copy && copy.getAdd() && copy.getTarget() == use.get());
    if (adds)
      continue;
    InFlightDiagnostic error =
        emitOpError("expects to be the target of stores that add");
    error.attachNote(use.getOwner()->getLoc()) << "is used here";
    return error;
  }
  return verifyProgress(*this);
}

LogicalResult EndOrderedOp::verify() { return verifyProgress(*this); }
