//===- CheckRegisters.cpp - tile-check-registers --------------------------===//

#include "Utils.h"
#include "fa3/Dialect/Tile/Analysis/RegisterEstimate.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"

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
    WalkResult result = getOperation()->walk([&](flow::GroupOp group) {
      Operation *where = nullptr;
      int64_t needed = estimateRegisters(group, where);
      int64_t limit = registers ? registers : getRegisterLimit(group);
      if (needed <= limit)
        return WalkResult::advance();
      InFlightDiagnostic diagnostic = group.emitOpError("needs about ");
      diagnostic << needed << " registers per thread, the limit is " << limit
                 << "; choose a smaller tile or more replicas";
      diagnostic.attachNote(where->getLoc()) << "most tiles live here";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
