//===- Rounds.cpp - loops of a few rounds ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Warp/Analysis/Rounds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace fa3;

/// How many rounds of loops there are, if `loop` is one of a few.
static std::optional<int64_t> getRounds(scf::ForOp loop) {
  constexpr int64_t kMostRounds = 4;
  bool isOnlyCompared =
      llvm::all_of(loop.getInductionVar().getUsers(),
                   [](Operation *user) { return isa<arith::CmpIOp>(user); });
  if (loop.getInductionVar().use_empty() || !isOnlyCompared ||
      loop.getBody()->getOps<scf::ForOp>().empty())
    return std::nullopt;
  std::optional<APInt> rounds = loop.getStaticTripCount();
  if (!rounds || rounds->ugt(kMostRounds))
    return std::nullopt;
  return rounds->getSExtValue();
}

static void writeOut(IRRewriter &rewriter, scf::ForOp loop) {
  int64_t rounds = *getRounds(loop),
          first = *getConstantIntValue(loop.getLowerBound()),
          step = *getConstantIntValue(loop.getStep());
  rewriter.setInsertionPoint(loop);
  SmallVector<Value> carried(loop.getInitArgs());
  for (int64_t round = 0; round < rounds; ++round) {
    IRMapping mapping;
    TypedAttr number = rewriter.getIntegerAttr(loop.getInductionVar().getType(),
                                               first + round * step);
    mapping.map(loop.getInductionVar(),
                arith::ConstantOp::create(rewriter, loop.getLoc(), number));
    mapping.map(loop.getRegionIterArgs(), carried);
    for (Operation &op : loop.getBody()->without_terminator()) {
      Operation *copy = rewriter.clone(op, mapping);
      SmallVector<Value> folded;
      if (copy->getNumRegions() || failed(rewriter.tryFold(copy, folded)) ||
          folded.empty())
        continue;
      mapping.map(op.getResults(), folded);
      rewriter.eraseOp(copy);
    }
    carried.clear();
    for (Value value : loop.getYieldedValues())
      carried.push_back(mapping.lookupOrDefault(value));
  }
  rewriter.replaceOp(loop, carried);
}

bool fa3::warp::hasRounds(Operation *op) {
  return op
      ->walk([](scf::ForOp loop) {
        return WalkResult(failure(getRounds(loop).has_value()));
      })
      .wasInterrupted();
}

void fa3::warp::writeOutRounds(Operation *op) {
  // Inner loops come first.
  SmallVector<scf::ForOp> loops;
  op->walk([&](scf::ForOp loop) {
    if (getRounds(loop))
      loops.push_back(loop);
  });
  IRRewriter rewriter(op->getContext());
  for (scf::ForOp loop : loops)
    writeOut(rewriter, loop);
}
