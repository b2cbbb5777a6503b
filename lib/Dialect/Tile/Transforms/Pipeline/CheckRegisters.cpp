//===- CheckRegisters.cpp - tile-check-registers --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Utils.h"
#include "fa3/Dialect/Tile/Analysis/RegisterEstimate.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "fa3/Machine/Chip.h"

namespace fa3::tile {
#define GEN_PASS_DEF_CHECKREGISTERS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

namespace {
struct CheckRegisters : fa3::tile::impl::CheckRegistersBase<CheckRegisters> {
  using CheckRegistersBase::CheckRegistersBase;
  void runOnOperation() override {
    if (registers < 0) {
      getOperation()->emitError("tile-check-registers: expects registers of at "
                                "least 0, got ")
          << registers.getValue();
      return signalPassFailure();
    }
    // A block that cannot start has no use for advice on its registers.
    WalkResult result = getOperation()->walk([&](warp::SpecializeOp op) {
      int64_t threads = countThreads(op), most = getChip(op).maxThreadsPerBlock;
      if (threads <= most)
        return WalkResult::advance();
      op.emitOpError("needs ")
          << threads << " threads, the limit of a block "
          << "is " << most << "; choose a smaller tile or fewer replicas";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    result = getOperation()->walk([&](warp::GroupOp group) {
      Operation *where = nullptr;
      int64_t needed = estimateRegisters(group, where);
      mostRegisters.updateMax(needed);
      int64_t limit = getRegisterLimit(group);
      if (registers)
        limit = registers;
      else if (producerRegisters &&
               int64_t(group.getWarps()) >= getChip(group).warpsPerWarpgroup)
        limit = getRegisterLimit(group, producerRegisters);
      if (needed <= limit)
        return WalkResult::advance();
      InFlightDiagnostic diagnostic = group.emitOpError("needs about ");
      diagnostic
          << needed << " registers per thread, the limit is " << limit
          << "; choose a smaller tile (block-m, block-n) or more replicas";
      diagnostic.attachNote(where->getLoc()) << "most tiles live here";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
