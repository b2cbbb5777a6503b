//===- PeelFirst.cpp - loops whose iterations differ ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "PeelFirst.h"
#include "BranchResults.h"
#include "fa3/Dialect/Warp/Analysis/Rounds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace fa3;
using Predicate = arith::CmpIPredicate;

static bool areEqual(Value a, Value b) {
  APInt x, y;
  return a == b || (matchPattern(a, m_ConstantInt(&x)) &&
                    matchPattern(b, m_ConstantInt(&y)) && x == y);
}

/// Whether `branch` asks if an iteration of `loop` is the first, in any words:
/// the answer for the first one, and its opposite for all others.
static std::optional<bool> getAnswerOfFirst(scf::IfOp branch, scf::ForOp loop) {
  auto condition = branch.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!condition)
    return std::nullopt;
  Predicate predicate = condition.getPredicate();
  Value lhs = condition.getLhs(), rhs = condition.getRhs();
  if (rhs == loop.getInductionVar()) {
    std::swap(lhs, rhs);
    switch (predicate) {
    case Predicate::slt:
      predicate = Predicate::sgt;
      break;
    case Predicate::sge:
      predicate = Predicate::sle;
      break;
    default:
      break;
    }
  }
  if (lhs != loop.getInductionVar() || !areEqual(rhs, loop.getLowerBound()))
    return std::nullopt;
  if (predicate == Predicate::eq || predicate == Predicate::sle)
    return true;
  if (predicate == Predicate::ne || predicate == Predicate::sgt)
    return false;
  return std::nullopt;
}

static SmallVector<scf::IfOp> findBranches(scf::ForOp loop) {
  SmallVector<scf::IfOp> branches;
  loop.getBody()->walk([&](scf::IfOp branch) {
    if (getAnswerOfFirst(branch, loop))
      branches.push_back(branch);
  });
  return branches;
}

/// Replaces a branch by what it does if its condition is `holds`.
static void decide(IRRewriter &rewriter, scf::IfOp branch, bool holds) {
  Block *arm = holds ? branch.thenBlock() : branch.elseBlock();
  if (!arm) {
    rewriter.eraseOp(branch);
    return;
  }
  SmallVector<Value> results(arm->getTerminator()->getOperands());
  rewriter.eraseOp(arm->getTerminator());
  rewriter.inlineBlockBefore(arm, branch);
  rewriter.replaceOp(branch, results);
}

/// loop -> if it runs { its first iteration; the others }
static void peel(IRRewriter &rewriter, scf::ForOp loop) {
  Location loc = loop.getLoc();
  rewriter.setInsertionPoint(loop);
  Value runs =
      arith::CmpIOp::create(rewriter, loc, Predicate::slt, loop.getLowerBound(),
                            loop.getUpperBound());
  auto guard = scf::IfOp::create(rewriter, loc, loop.getResultTypes(), runs,
                                 /*withElseRegion=*/true);

  rewriter.setInsertionPointToStart(guard.thenBlock());
  IRMapping first;
  first.map(loop.getInductionVar(), loop.getLowerBound());
  first.map(loop.getRegionIterArgs(), loop.getInitArgs());
  SmallVector<std::pair<scf::IfOp, bool>> decided;
  for (Operation &op : loop.getBody()->without_terminator())
    rewriter.clone(op, first);
  for (scf::IfOp branch : findBranches(loop)) {
    bool answer = *getAnswerOfFirst(branch, loop);
    if (Operation *copy = first.lookupOrNull(branch.getOperation()))
      decided.push_back({cast<scf::IfOp>(copy), answer});
    decided.push_back({branch, !answer});
  }
  SmallVector<Value> values;
  for (Value value : loop.getYieldedValues())
    values.push_back(first.lookupOrDefault(value));
  Value second = arith::AddIOp::create(rewriter, loc, loop.getLowerBound(),
                                       loop.getStep());
  auto rest = scf::ForOp::create(rewriter, loc, second, loop.getUpperBound(),
                                 loop.getStep(), values);
  // A loop without results gets a terminator that the body brings along.
  if (!rest.getBody()->empty())
    rewriter.eraseOp(rest.getBody()->getTerminator());
  rewriter.mergeBlocks(loop.getBody(), rest.getBody(),
                       rest.getBody()->getArguments());
  auto finish = [&](Block *block, ValueRange results) {
    if (!block->empty() && block->back().hasTrait<OpTrait::IsTerminator>())
      rewriter.eraseOp(block->getTerminator());
    rewriter.setInsertionPointToEnd(block);
    scf::YieldOp::create(rewriter, loc, results);
  };
  finish(guard.thenBlock(), rest.getResults());
  finish(guard.elseBlock(), loop.getInitArgs());
  rewriter.replaceOp(loop, guard.getResults());
  for (auto [branch, holds] : decided)
    decide(rewriter, branch, holds);
}

OwningOpRef<gpu::GPUFuncOp>
fa3::hopper::peelFirstIterations(gpu::GPUFuncOp function) {
  auto find = [](gpu::GPUFuncOp function) {
    SmallVector<scf::ForOp> loops;
    function.walk([&](scf::ForOp loop) {
      if (!findBranches(loop).empty())
        loops.push_back(loop);
    });
    return loops;
  };
  if (find(function).empty() && !warp::hasRounds(function) &&
      !hasBranchResults(function))
    return {};
  OwningOpRef<gpu::GPUFuncOp> copy = function.clone();
  warp::writeOutRounds(*copy);
  IRRewriter rewriter(function.getContext());
  // Inner loops come first, and each has fewer such branches afterwards.
  for (scf::ForOp loop : find(*copy))
    peel(rewriter, loop);
  restoreBranchResults(*copy);
  return copy;
}
