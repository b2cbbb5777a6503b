//===- ProtocolStart.cpp - what a kernel prepares before its groups -------===//
// SPDX-License-Identifier: Apache-2.0
#include "ProtocolModel.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

LogicalResult ProtocolModel::checkInitialization() {
  llvm::DenseSet<Value> open, ready;
  Operation *init = nullptr, *fill = nullptr;
  for (Operation &op : *specialize->getBlock()) {
    if (&op == specialize)
      break;
    if (auto initOp = dyn_cast<BarrierInitOp>(op)) {
      for (Value barrier : initOp.getBarriers())
        if (!open.insert(barrier).second || ready.contains(barrier))
          return initOp.emitOpError("initializes an mbarrier again");
      init = initOp;
    } else if (isa<SmemFillOp>(op)) {
      fill = &op;
    } else if (isa<gpu::BarrierOp>(op)) {
      ready.insert(open.begin(), open.end());
      open.clear();
      fill = nullptr;
    }
  }
  if (fill) {
    InFlightDiagnostic diagnostic =
        fill->emitOpError("expects a 'gpu.barrier' before 'warp.specialize': "
                          "others may read the buffer first");
    diagnostic.attachNote(specialize.getLoc()) << "the groups start here";
    return failure();
  }
  if (!open.empty()) {
    InFlightDiagnostic diagnostic =
        init->emitOpError("expects a 'gpu.barrier' before 'warp.specialize': "
                          "other threads may use the mbarriers first");
    diagnostic.attachNote(specialize.getLoc()) << "the groups start here";
    return failure();
  }
  for (const BarrierArray &array : barriers)
    if ((!array.arriving.empty() || !array.waiting.empty()) &&
        !ready.contains(array.op.getBarrier()))
      return array.op.emitOpError(
          "is used by groups, but not initialized before 'warp.specialize'");
  return success();
}

LogicalResult ProtocolModel::checkContents() {
  llvm::DenseSet<Value> written;
  function.walk([&](Operation *op) {
    if (auto load = dyn_cast<TmaLoadOp>(op))
      written.insert(load.getBuffer());
    else if (auto store = dyn_cast<SmemStoreOp>(op))
      written.insert(store.getBuffer());
    else if (auto fillOp = dyn_cast<SmemFillOp>(op))
      written.insert(fillOp.getBuffer());
  });
  WalkResult reads = function.walk([&](DescOp desc) {
    if (written.contains(desc.getBuffer()))
      return WalkResult::advance();
    desc.emitOpError("describes a buffer that nothing writes");
    return WalkResult::interrupt();
  });
  return failure(reads.wasInterrupted());
}
