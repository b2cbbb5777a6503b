//===- Rounds.cpp - loops of a few rounds ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Warp/Analysis/Rounds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace fa3;

/// Whether `loop` has a few rounds of loops, and its number only says which run
/// how far.
static bool isOfRounds(scf::ForOp loop) {
  constexpr int64_t kMostRounds = 4;
  bool isOnlyCompared =
      llvm::all_of(loop.getInductionVar().getUsers(),
                   [](Operation *user) { return isa<arith::CmpIOp>(user); });
  if (loop.getInductionVar().use_empty() || !isOnlyCompared ||
      loop.getBody()->getOps<scf::ForOp>().empty())
    return false;
  std::optional<APInt> rounds = loop.getStaticTripCount();
  return rounds && rounds->ule(kMostRounds);
}

bool fa3::warp::hasRounds(Operation *op) {
  return op
      ->walk(
          [](scf::ForOp loop) { return WalkResult(failure(isOfRounds(loop))); })
      .wasInterrupted();
}

void fa3::warp::writeOutRounds(Operation *op) {
  // Inner loops come first.
  SmallVector<scf::ForOp> loops;
  op->walk([&](scf::ForOp loop) {
    if (isOfRounds(loop))
      loops.push_back(loop);
  });
  for (scf::ForOp loop : loops) {
    [[maybe_unused]] LogicalResult unrolled = loopUnrollFull(loop);
    assert(succeeded(unrolled) && "constants say how many rounds there are");
  }
  // Which loops run how far is now decided by comparing constants.
  IRRewriter rewriter(op->getContext());
  op->walk([&](Operation *inner) {
    SmallVector<Value> folded;
    if (inner->getNumRegions() || failed(rewriter.tryFold(inner, folded)) ||
        folded.empty())
      return;
    rewriter.replaceOp(inner, folded);
  });
}
