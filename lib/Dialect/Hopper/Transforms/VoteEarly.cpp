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

/// The vector type of the bits of floats.
static VectorType getBitsType(Value value) {
  auto type = cast<VectorType>(value.getType());
  return type.clone(IntegerType::get(type.getContext(), 32));
}

/// What a maximum of each lane's numbers gives for those of their bits.
static Value findGreatest(ImplicitLocOpBuilder &b, FragmentReduceOp part,
                          Value bits) {
  return FragmentReduceOp::create(b, getBitsType(part.getResult()),
                                  part.getKind(), bits, part.getDim(),
                                  part.getModuloAttr(), part.getFragment());
}

static Value findGreatest(ImplicitLocOpBuilder &b, FragmentReduceOp part) {
  Value numbers = part.getSource();
  return findGreatest(
      b, part, arith::BitcastOp::create(b, getBitsType(numbers), numbers));
}

namespace {
/// A maximum of a lane's numbers of all steps, which a loop carries for its own
/// sake: of what `part` is about, or of maxima that `part` is of. Once it is
/// not negative, what is greater is so as an integer, too; until then the
/// branch is to be taken.
class Kept {
public:
  static std::optional<Kept> find(FragmentReduceOp part, const Limit &limit);

  /// The greatest of the bits of what `part` is of.
  Value findGreatest(ImplicitLocOpBuilder &b) {
    greatest = ::findGreatest(b, source);
    return source == part ? greatest : ::findGreatest(b, part, greatest);
  }
  /// Guards what the loop carries first as the limit.
  void guardFirst(ImplicitLocOpBuilder &b);
  /// The limit, or the least integer where the maximum is negative.
  Value guard(ImplicitLocOpBuilder &b, Value limitBits, Value maximum);
  /// The maximum outside of the branch.
  Value join(ImplicitLocOpBuilder &b) {
    Value bits = arith::BitcastOp::create(b, greatest.getType(), carried);
    bits = arith::MaxSIOp::create(b, greatest, bits);
    return arith::BitcastOp::create(b, carried.getType(), bits);
  }
  FragmentReduceOp getSource() const { return source; }
  arith::MaxNumFOp getOp() const { return op; }

private:
  Kept(FragmentReduceOp part, FragmentReduceOp source, arith::MaxNumFOp op,
       BlockArgument carried)
      : part(part), source(source), op(op), carried(carried) {}

  FragmentReduceOp part, source;
  arith::MaxNumFOp op;
  BlockArgument carried;
  Value greatest;
};
} // namespace

std::optional<Kept> Kept::find(FragmentReduceOp part, const Limit &limit) {
  auto loop = cast<scf::ForOp>(limit.getCarried().getOwner()->getParentOp());
  auto source = part.getSource().getDefiningOp<FragmentReduceOp>();
  if (!source || source.getKind() != part.getKind())
    source = part;
  for (Operation *user : source->getUsers()) {
    auto op = dyn_cast<arith::MaxNumFOp>(user);
    if (!op || op->getBlock() != loop.getBody() || !op->hasOneUse())
      continue;
    auto carried = dyn_cast<BlockArgument>(op.getLhs() == source ? op.getRhs()
                                                                 : op.getLhs());
    if (carried && carried.getOwner() == loop.getBody() &&
        carried != loop.getInductionVar() && carried.hasOneUse() &&
        carried != limit.getCarried() &&
        loop.getTiedLoopYieldedValue(carried)->get() == op.getResult())
      return Kept(part, source, op, carried);
  }
  return std::nullopt;
}

void Kept::guardFirst(ImplicitLocOpBuilder &b) {
  auto loop = cast<scf::ForOp>(carried.getOwner()->getParentOp());
  OpOperand &first = loop.getInitArgsMutable()[loop.getInits().size() - 1];
  b.setInsertionPoint(loop);
  first.set(guard(b, first.get(), loop.getTiedLoopInit(carried)->get()));
}

Value Kept::guard(ImplicitLocOpBuilder &b, Value limitBits, Value maximum) {
  auto splat = [&](Type type, int32_t number) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(cast<ShapedType>(type), number));
  };
  // Negative integers become those that are not, of which one is the greatest.
  VectorType type = getBitsType(maximum);
  Value bits = arith::BitcastOp::create(b, type, maximum);
  Value flipped = arith::XOrIOp::create(b, bits, splat(type, -1));
  if (source != part)
    flipped = ::findGreatest(b, part, flipped);
  Type ofRows = limitBits.getType();
  Value isOrdered = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, flipped,
                                          splat(ofRows, 0));
  return arith::SelectOp::create(
      b, isOrdered, limitBits,
      splat(ofRows, std::numeric_limits<int32_t>::min()));
}

/// Moves into the branch what depends on the maximum, and what only that does.
static void fillBranch(Block *body, const Decision &decision,
                       FragmentReduceOp part, std::optional<Kept> kept) {
  SmallVector<Operation *> moved;
  if (kept)
    moved.push_back(kept->getOp());
  LaneReduceOp maximum = decision.maximum;
  moved.push_back(maximum);
  auto isNeeded = [&](Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return llvm::is_contained(moved, user);
    });
  };
  for (FragmentReduceOp op : {part, kept ? kept->getSource() : part})
    if (op && !llvm::is_contained(moved, op) && isNeeded(op))
      moved.insert(moved.begin(), op);
  llvm::append_range(moved, decision.path);
  llvm::append_range(moved, decision.choices);
  for (Operation *op : moved)
    op->moveBefore(body, body->end());
}

/// Lets other votes on the condition be the early one, if that does no harm.
static void joinVotes(const Decision &decision, Value condition, Value any) {
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

/// Puts the maximum and what depends on it into a branch that only warps take
/// one of whose lanes may find the condition true.
static void voteEarly(const Decision &decision, FragmentReduceOp part,
                      std::optional<Limit> limit) {
  arith::CmpFOp comparison = decision.comparison;
  ImplicitLocOpBuilder b(comparison.getLoc(), comparison);
  Value any, limitBits;
  std::optional<Kept> kept;
  if (limit) {
    limitBits = limit->carry(b).front();
    kept = Kept::find(part, *limit);
    if (kept)
      kept->guardFirst(b);
    b.setInsertionPoint(comparison);
    Value greatest = kept ? kept->findGreatest(b) : findGreatest(b, part);
    any = VoteAnyOp::create(b, b.getI1Type(),
                            arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                                  greatest, limitBits));
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
  if (kept) {
    exported.push_back(kept->getOp());
    otherwise.push_back(kept->join(b));
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
  fillBranch(body, decision, limit ? part : FragmentReduceOp(), kept);
  b.setInsertionPointToEnd(body);
  if (limit) {
    Value next = limit->build(b, limit->getChoice());
    exported.push_back(kept ? kept->guard(b, next, kept->getOp()) : next);
    auto loop = cast<scf::ForOp>(branch->getParentOp());
    loop.getYieldedValuesMutable()->back().set(branch.getResults().back());
  }
  YieldOp::create(b, exported);
  joinVotes(decision, branch.getResult(0), any);
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
