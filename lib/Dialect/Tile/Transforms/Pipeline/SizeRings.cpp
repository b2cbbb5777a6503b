//===- SizeRings.cpp - tile-size-rings ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "RingSizes.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"

namespace fa3::tile {
#define GEN_PASS_DEF_SIZERINGS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// In a nest of so many loops, and how deep rings get there: by more, a group
/// could be ahead of another in more ways than hopper-check-protocol explores.
static constexpr unsigned kDeepNest = 3;
static constexpr int64_t kMostInDeepNest = 2;

static LogicalResult sizeRings(gpu::GPUFuncOp kernel, int64_t smemBudget,
                               int64_t maxDepth) {
  int64_t budget = smemBudget - getConstantBytes(kernel);
  RingSizes sizes(kernel);
  if (sizes.getBytes() > budget) {
    InFlightDiagnostic diagnostic =
        kernel.emitOpError("needs ")
        << sizes.getBytes() << " bytes of shared memory for its rings, the "
        << "limit is " << budget;
    for (warp::RingOp ring : sizes.all)
      diagnostic.attachNote(ring.getLoc())
          << RingSizes::getEntryBytes(ring) *
                 ring.getRing().getType().getDepth()
          << " bytes for " << ring.getRing().getType();
    return diagnostic;
  }
  if (!sizes.growing.empty() && sizes.growing.begin()->first >= kDeepNest)
    maxDepth = std::min(maxDepth, kMostInDeepNest);
  for (int64_t depth = 2; depth <= maxDepth; ++depth)
    for (auto &[loops, inStep] : sizes.growing)
      for (warp::RingOp ring : sizes.getGrowing(inStep, depth, budget))
        ring.getRing().setType(ring.getRing().getType().withDepth(depth));
  return success();
}

namespace {
struct SizeRings : fa3::tile::impl::SizeRingsBase<SizeRings> {
  using SizeRingsBase::SizeRingsBase;
  void runOnOperation() override {
    auto expectAtLeast = [&](StringRef name, int64_t least, int64_t value) {
      if (value >= least)
        return success();
      return LogicalResult(
          getOperation()->emitError("tile-size-rings: expects ")
          << name << " of at least " << least << ", got " << value);
    };
    if (failed(expectAtLeast("max-depth", 1, maxDepth)) ||
        failed(expectAtLeast("smem-budget", 0, smemBudget)))
      return signalPassFailure();
    if (failed(forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
          if (failed(sizeRings(kernel, smemBudget, maxDepth)))
            return failure();
          mostBytes.updateMax(RingSizes(kernel).getBytes());
          return success();
        })))
      signalPassFailure();
  }
};
} // namespace
