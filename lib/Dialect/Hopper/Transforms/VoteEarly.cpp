//===- VoteEarly.cpp - hopper-vote-early ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// max(x_0, ..., x_n) is one of the x_i. So whatever a condition c computes of a
// maximum that lanes find together, it computes of one lane's part as well:
//
//   c(lane.reduce max x) in some lane  =>  c(x) in some lane
//===----------------------------------------------------------------------===//

#include "VoteDecision.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

namespace fa3::hopper {
#define GEN_PASS_DEF_VOTEEARLY
#include "fa3/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace fa3::hopper

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

/// Whether numbers are products, or integers that are, of whose signs nothing
/// is known, so that the greatest of many is positive as a rule; or the
/// greatest of such. Not those that masks choose, which stand where few steps
/// are.
static bool isProduct(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto part = dyn_cast_or_null<FragmentReduceOp>(op))
    return part.getKind() == Combine::max && isProduct(part.getSource());
  if (auto wait = dyn_cast_or_null<WgmmaWaitOp>(op))
    return cast<OpResult>(value).getResultNumber() < wait.getInflight().size();
  return isa_and_nonnull<arith::SIToFPOp>(op) && isProduct(op->getOperand(0));
}

/// What a value is a constant multiple of. Canonical products have constants on
/// the right.
static Value dropFactor(Value value) {
  auto scaled = value.getDefiningOp<arith::MulFOp>();
  return scaled && matchPattern(scaled.getRhs(), m_Constant()) ? scaled.getLhs()
                                                               : value;
}

/// Whether numbers come from shared memory, perhaps converted.
static bool isRead(Value value) {
  if (auto extended = value.getDefiningOp<arith::ExtFOp>())
    value = extended.getIn();
  return value.getDefiningOp<SmemLoadOp>();
}

/// Whether numbers are sums of products and of what is read from shared memory,
/// either of them times a constant.
static bool isProductAndRead(Value value) {
  auto sum = value.getDefiningOp<arith::AddFOp>();
  if (!sum)
    return false;
  Value a = dropFactor(sum.getLhs()), b = dropFactor(sum.getRhs());
  return (isProduct(a) && isRead(b)) || (isProduct(b) && isRead(a));
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Whether a branch gives what it gives otherwise for all elements for which
/// `condition` is false, so that taking it too often does no harm.
static bool isGuarded(WarpIfOp branch, Value condition) {
  auto yield = cast<YieldOp>(branch.getBody().front().getTerminator());
  for (auto [value, otherwise] :
       llvm::zip(yield.getValues(), branch.getOtherwise())) {
    auto select = value.getDefiningOp<arith::SelectOp>();
    if (!select || select.getFalseValue() != otherwise)
      return false;
    Value chosen = select.getCondition();
    if (auto shuffle = chosen.getDefiningOp<vector::ShuffleOp>();
        shuffle && shuffle.getV1() == shuffle.getV2())
      chosen = shuffle.getV1();
    if (chosen != condition)
      return false;
  }
  return true;
}

/// A vote on what each lane knows: the path with its part in place of the
/// maximum.
static Value voteOnParts(ImplicitLocOpBuilder &b, const Decision &decision) {
  IRMapping mapping;
  LaneReduceOp maximum = decision.maximum;
  mapping.map(maximum.getResult(), maximum.getSource());
  for (Operation *op : decision.path)
    b.clone(*op, mapping);
  arith::CmpFOp comparison = decision.comparison;
  return VoteAnyOp::create(b, b.getI1Type(),
                           mapping.lookup(comparison.getResult()));
}

/// A vote on the bits of what each lane knows.
static Value voteOnBits(ImplicitLocOpBuilder &b, FragmentReduceOp part,
                        Value limit) {
  auto bitsOf = [&](Value value) {
    return cast<VectorType>(value.getType()).clone(b.getI32Type());
  };
  Value bits =
      arith::BitcastOp::create(b, bitsOf(part.getSource()), part.getSource());
  Value greatest = FragmentReduceOp::create(
      b, bitsOf(part.getResult()), part.getKind(), bits, part.getDim(),
      part.getModuloAttr(), part.getFragment());
  Value exceeds =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sge, greatest, limit);
  return VoteAnyOp::create(b, b.getI1Type(), exceeds);
}

/// Puts the maximum and what depends on it into a branch that only warps take
/// one of whose lanes may find the condition true.
static void voteEarly(const Decision &decision, FragmentReduceOp part,
                      std::optional<Limit> limit) {
  arith::CmpFOp comparison = decision.comparison;
  ImplicitLocOpBuilder b(comparison.getLoc(), comparison);
  Value any, limitBits;
  if (limit) {
    limitBits = limit->carry(b).front();
    b.setInsertionPoint(comparison);
    any = voteOnBits(b, part, limitBits);
  } else {
    any = voteOnParts(b, decision);
  }

  SmallVector<Value> exported = {comparison.getResult()}, otherwise;
  otherwise.push_back(arith::ConstantOp::create(
      b, b.getZeroAttr(comparison.getResult().getType())));
  for (arith::SelectOp choice : decision.choices) {
    exported.push_back(choice.getResult());
    otherwise.push_back(choice.getFalseValue());
  }
  if (limit)
    otherwise.push_back(limitBits);
  auto branch =
      WarpIfOp::create(b, TypeRange(ValueRange(otherwise)), any, otherwise);
  Block *body = b.createBlock(&branch.getBody());
  for (auto [value, result] : llvm::zip(exported, branch.getResults()))
    value.replaceUsesWithIf(result, [&](OpOperand &use) {
      return !llvm::is_contained(decision.choices, use.getOwner());
    });
  if (limit && part->hasOneUse())
    part->moveBefore(body, body->end());
  LaneReduceOp maximum = decision.maximum;
  maximum->moveBefore(body, body->end());
  for (Operation *op : decision.path)
    op->moveBefore(body, body->end());
  for (arith::SelectOp choice : decision.choices)
    choice->moveBefore(body, body->end());
  b.setInsertionPointToEnd(body);
  if (limit) {
    exported.push_back(limit->build(b, limit->getChoice()));
    auto loop = cast<scf::ForOp>(branch->getParentOp());
    loop.getYieldedValuesMutable()->back().set(branch.getResults().back());
  }
  YieldOp::create(b, exported);
  Value condition = branch.getResult(0);
  for (VoteAnyOp vote : decision.votes) {
    bool isHarmless = llvm::all_of(vote->getUsers(), [&](Operation *user) {
      auto guarded = dyn_cast<WarpIfOp>(user);
      return guarded && isGuarded(guarded, condition);
    });
    if (!isHarmless)
      continue;
    vote.replaceAllUsesWith(any);
    vote.erase();
  }
}

namespace {
struct VoteEarly : hopper::impl::VoteEarlyBase<VoteEarly> {
  using VoteEarlyBase::VoteEarlyBase;

  void runOnOperation() override {
    if (earlyVotes == options::EarlyVotes::None)
      return;
    llvm::SetVector<Value> conditions;
    getOperation().walk(
        [&](VoteAnyOp vote) { conditions.insert(vote.getSource()); });
    for (Value condition : conditions)
      for (Operation *user : condition.getUsers())
        if (auto vote = dyn_cast<VoteAnyOp>(user)) {
          rewrite(vote);
          break;
        }
  }

  void rewrite(VoteAnyOp vote) {
    std::optional<Decision> decision = findDecision(vote);
    if (!decision)
      return;
    auto part = decision->maximum.getSource().getDefiningOp<FragmentReduceOp>();
    std::optional<Limit> limit;
    if (earlyVotes != options::EarlyVotes::Floats && part &&
        part.getKind() == Combine::max)
      limit = Limit::find(*decision);
    if (earlyVotes == options::EarlyVotes::Auto &&
        !(limit && isProduct(part.getSource()))) {
      // ptxas spills where a thread has more scores than that.
      constexpr int64_t kMostScores = 48;
      if (!part || !isProductAndRead(part.getSource()) ||
          cast<VectorType>(part.getSource().getType()).getNumElements() >
              kMostScores)
        return;
      // Of the sign of what is read nothing is known.
      limit.reset();
    }
    voteEarly(*decision, part, limit);
    ++rewritten;
  }
};
} // namespace
