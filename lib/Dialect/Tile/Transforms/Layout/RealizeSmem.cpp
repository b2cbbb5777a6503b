//===- RealizeSmem.cpp - tile-realize-smem --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Utils.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"

namespace fa3::tile {
#define GEN_PASS_DEF_REALIZESMEM
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// The payload with storage encodings; a tensor with rows that do not fill the
/// swizzle's 8-row pattern has none.
static FailureOr<SmallVector<Type>> realizePayload(Location loc,
                                                   ArrayRef<Type> payload) {
  SmallVector<Type> types;
  for (Type type : payload) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || tensor.getEncoding() || isNumber(tensor)) {
      types.push_back(type);
      continue;
    }
    if (tensor.getRank() == 2 && tensor.getDimSize(0) % kSwizzleRows)
      return emitError(loc) << "a ring of " << tensor
                            << " has no layout in shared memory: expects rank "
                               "1, or rows that are a multiple of 8";
    types.push_back(RankedTensorType::get(
        tensor.getShape(), tensor.getElementType(), getDefaultStorage(tensor)));
  }
  return types;
}

/// Rewrites ring and slot types of one value.
static LogicalResult realizeValue(Value value) {
  if (auto ring = dyn_cast<warp::RingType>(value.getType())) {
    auto payload = realizePayload(value.getLoc(), ring.getPayload());
    if (failed(payload))
      return failure();
    value.setType(ring.withPayload(*payload));
  } else if (auto slot = dyn_cast<warp::SlotType>(value.getType())) {
    auto payload = realizePayload(value.getLoc(), slot.getPayload());
    if (failed(payload))
      return failure();
    value.setType(
        warp::SlotType::get(value.getContext(), slot.getSide(), *payload));
  }
  return success();
}

/// A bulk copy needs a contiguous last dimension.
template <typename CopyOp>
static LogicalResult verifyBulkCopy(CopyOp copy, Value array) {
  auto memref = cast<MemRefType>(array.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (memref.getRank() <= 5 &&
      succeeded(memref.getStridesAndOffset(strides, offset)) &&
      strides.back() == 1)
    return success();
  return copy.emitOpError("expects an array of rank up to 5 whose last "
                          "dimension is contiguous, got ")
         << memref;
}

static LogicalResult realize(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value value : op->getResults())
      if (failed(realizeValue(value)))
        return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          if (failed(realizeValue(argument)))
            return WalkResult::interrupt();
    if (auto view = dyn_cast<ViewOp>(op)) {
      auto entry = cast<RankedTensorType>(
          view.getSlot().getType().getPayload()[view.getField()]);
      RankedTensorType window = view.getView().getType().getTile();
      view.getView().setType(ViewType::get(RankedTensorType::get(
          window.getShape(), window.getElementType(), entry.getEncoding())));
    }
    LogicalResult copies = success();
    if (auto load = dyn_cast<LoadAsyncOp>(op))
      copies = verifyBulkCopy(load, load.getSource());
    else if (auto store = dyn_cast<StoreAsyncOp>(op))
      copies = verifyBulkCopy(store, store.getTarget());
    return failed(copies) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct RealizeSmem : fa3::tile::impl::RealizeSmemBase<RealizeSmem> {
  using RealizeSmemBase::RealizeSmemBase;
  void runOnOperation() override {
    if (failed(forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
          if (failed(realize(kernel)))
            return failure();
          kernel.walk([&](warp::RingOp) { ++numRings; });
          return success();
        })))
      signalPassFailure();
  }
};
} // namespace
