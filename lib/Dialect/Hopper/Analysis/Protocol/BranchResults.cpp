//===- BranchResults.cpp - positions that a branch decides ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "BranchResults.h"
#include "fa3/Dialect/Warp/IR/Warp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace {
/// A number that a condition chooses: one of two values, or 1 and 0.
struct Choice {
  Operation *op;
  Value condition;
  bool isInverted = false;
};
} // namespace

static std::optional<Choice> getChoice(Operation *op) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isInteger(32) ||
      !isa<arith::SelectOp, arith::ExtUIOp>(op) ||
      !op->getOperand(0).getType().isInteger(1))
    return std::nullopt;
  return Choice{op, op->getOperand(0)};
}

/// Whether one condition holds where the other does not.
static bool areOpposite(Value a, Value b) {
  for (auto [one, other] : {std::pair(a, b), std::pair(b, a)}) {
    auto inverse = one.getDefiningOp<arith::XOrIOp>();
    if (inverse && inverse.getLhs() == other &&
        matchPattern(inverse.getRhs(), m_One()))
      return true;
  }
  auto x = a.getDefiningOp<arith::CmpIOp>();
  auto y = b.getDefiningOp<arith::CmpIOp>();
  return x && y && x.getLhs() == y.getLhs() && x.getRhs() == y.getRhs() &&
         x.getPredicate() == arith::invertPredicate(y.getPredicate());
}

/// Whether constants and the replica decide: what follows from these is known.
static bool isKnown(Value value) {
  if (isa<BlockArgument>(value))
    return isa<warp::GroupOp>(value.getParentBlock()->getParentOp());
  Operation *op = value.getDefiningOp();
  return isa<arith::ArithDialect>(op->getDialect()) &&
         llvm::all_of(op->getOperands(), isKnown);
}

/// The branch on that condition, or its opposite, in front of all uses of the
/// number.
static scf::IfOp findBranch(Choice &choice) {
  Block *block = choice.op->getBlock();
  for (auto branch : block->getOps<scf::IfOp>()) {
    Value condition = branch.getCondition();
    choice.isInverted = areOpposite(condition, choice.condition);
    if (!choice.op->isBeforeInBlock(branch) ||
        (condition != choice.condition && !choice.isInverted))
      continue;
    bool isInFront = llvm::all_of(choice.op->getUsers(), [&](Operation *other) {
      return branch->isBeforeInBlock(block->findAncestorOpInBlock(*other));
    });
    if (isInFront)
      return branch;
  }
  return {};
}

static llvm::MapVector<Operation *, SmallVector<Choice>>
findChoices(gpu::GPUFuncOp function) {
  llvm::MapVector<Operation *, SmallVector<Choice>> choices;
  function.walk([&](Operation *op) {
    std::optional<Choice> choice = getChoice(op);
    if (!choice || op->use_empty() || isKnown(choice->condition))
      return;
    if (scf::IfOp branch = findBranch(*choice))
      choices[branch].push_back(*choice);
  });
  return choices;
}

/// What the number is if the condition of the branch holds, or does not.
static Value getValue(OpBuilder &builder, const Choice &choice, bool holds) {
  bool isFirst = holds != choice.isInverted;
  if (auto select = dyn_cast<arith::SelectOp>(choice.op))
    return isFirst ? select.getTrueValue() : select.getFalseValue();
  return arith::ConstantIntOp::create(builder, choice.op->getLoc(),
                                      isFirst ? 1 : 0, 32);
}

static void append(IRRewriter &rewriter, scf::IfOp branch,
                   ArrayRef<Choice> choices) {
  SmallVector<Type> types(branch.getResultTypes());
  types.append(choices.size(), rewriter.getI32Type());
  rewriter.setInsertionPoint(branch);
  auto wider = scf::IfOp::create(rewriter, branch.getLoc(), types,
                                 branch.getCondition(), /*addThenBlock=*/true,
                                 /*addElseBlock=*/true);
  for (bool holds : {true, false}) {
    Block *from = holds ? branch.thenBlock() : branch.elseBlock();
    Block *to = holds ? wider.thenBlock() : wider.elseBlock();
    SmallVector<Value> yielded;
    if (from) {
      llvm::append_range(yielded, from->getTerminator()->getOperands());
      rewriter.eraseOp(from->getTerminator());
      rewriter.mergeBlocks(from, to);
    }
    rewriter.setInsertionPointToEnd(to);
    for (const Choice &choice : choices)
      yielded.push_back(getValue(rewriter, choice, holds));
    scf::YieldOp::create(rewriter, branch.getLoc(), yielded);
  }
  for (auto [choice, result] :
       llvm::zip(choices, wider.getResults().take_back(choices.size())))
    rewriter.replaceOp(choice.op, result);
  rewriter.replaceOp(branch, wider.getResults().drop_back(choices.size()));
}

bool fa3::hopper::hasBranchResults(gpu::GPUFuncOp function) {
  return !findChoices(function).empty();
}

void fa3::hopper::restoreBranchResults(gpu::GPUFuncOp function) {
  IRRewriter rewriter(function.getContext());
  for (auto &[branch, choices] : findChoices(function))
    append(rewriter, cast<scf::IfOp>(branch), choices);
}
