//===- ShrinkBounds.cpp - tile-shrink-bounds ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Utils.h"
#include "fa3/Dialect/Tile/Analysis/PredicateRange.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace fa3::tile {
#define GEN_PASS_DEF_SHRINKBOUNDS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3::tile;

/// Cuts off the ends of the range where the guard is false. Returns whether
/// there were any.
static bool shrink(scf::ForOp loop) {
  std::optional<GuardedBody> guarded = matchGuardedBody(loop);
  if (!guarded)
    return false;
  hoistScalars(loop);
  LoopScalars scalars(loop.getInductionVar());
  Interval possible =
      classifyPredicate(guarded->condition.getMask(), scalars).possible;
  bool changed = false;
  OpBuilder builder(loop);
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  if (!possible.lower.provesAtMost(getAffineForm(lower))) {
    loop.getLowerBoundMutable().assign(
        possible.lower.materialize(builder, loop.getLoc(), lower, upper));
    changed = true;
  }
  if (!possible.upper.provesAtLeast(getAffineForm(upper))) {
    loop.getUpperBoundMutable().assign(
        possible.upper.materialize(builder, loop.getLoc(), lower, upper));
    changed = true;
  }
  return changed;
}

namespace {
struct ShrinkBounds : fa3::tile::impl::ShrinkBoundsBase<ShrinkBounds> {
  using ShrinkBoundsBase::ShrinkBoundsBase;
  void runOnOperation() override {
    (void)forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
      kernel.walk([&](scf::ForOp loop) { shrunk += shrink(loop); });
      return success();
    });
  }
};
} // namespace
