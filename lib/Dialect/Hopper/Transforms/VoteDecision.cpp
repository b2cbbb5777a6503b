//===- VoteDecision.cpp - conditions on maxima across lanes ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "VoteDecision.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

static bool isElementwise(Operation *op) {
  return OpTrait::hasElementwiseMappableTraits(op) && isMemoryEffectFree(op) &&
         op->getNumResults() == 1;
}

/// Collects the elementwise operations of a block between maxima across lanes
/// and `value`. Returns whether it depends on such a maximum through them.
static bool collectPath(Value value, Block *block, Decision &decision,
                        llvm::SmallDenseMap<Operation *, bool> &visited) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != block)
    return false;
  auto [it, isNew] = visited.try_emplace(op, false);
  if (!isNew)
    return it->second;
  if (auto reduce = dyn_cast<LaneReduceOp>(op)) {
    if (reduce.getKind() != Combine::max || decision.maximum)
      return false;
    decision.maximum = reduce;
    return visited[op] = true;
  }
  if (!isElementwise(op))
    return false;
  bool depends = false;
  for (Value operand : op->getOperands())
    depends |= collectPath(operand, block, decision, visited);
  if (depends)
    decision.path.push_back(op);
  return visited[op] = depends;
}

/// Whether a value can be used in front of `op`.
static bool isAvailable(Value value, Operation *op) {
  Operation *definition = value.getDefiningOp();
  return !definition || definition->getBlock() != op->getBlock() ||
         definition->isBeforeInBlock(op);
}

bool Decision::isOnPath(Operation *op) const {
  LaneReduceOp reduce = maximum;
  return op && (op == reduce || llvm::is_contained(path, op));
}

std::optional<Decision> fa3::hopper::findDecision(VoteAnyOp vote) {
  Decision decision;
  decision.comparison = vote.getSource().getDefiningOp<arith::CmpFOp>();
  if (!decision.comparison)
    return std::nullopt;
  Block *block = decision.comparison->getBlock();
  llvm::SmallDenseMap<Operation *, bool> visited;
  if (!collectPath(vote.getSource(), block, decision, visited))
    return std::nullopt;
  SmallVector<Operation *> moved(decision.path);
  moved.push_back(decision.maximum);
  for (Operation *op : moved) {
    for (Operation *user : op->getUsers()) {
      if (decision.isOnPath(user))
        continue;
      if (op == decision.comparison) {
        auto other = dyn_cast<VoteAnyOp>(user);
        if (other && other->getBlock() == block &&
            !llvm::is_contained(decision.votes, other))
          decision.votes.push_back(other);
        continue;
      }
      auto choice = dyn_cast<arith::SelectOp>(user);
      if (!choice || choice->getBlock() != block ||
          choice.getCondition() != vote.getSource() ||
          choice.getFalseValue() == op->getResult(0) ||
          !isAvailable(choice.getFalseValue(), decision.comparison))
        return std::nullopt;
      if (!llvm::is_contained(decision.choices, choice))
        decision.choices.push_back(choice);
    }
  }
  // A constant, with which nothing was compared before, is exceeded as a rule.
  bool isFirst = llvm::all_of(decision.choices, [](arith::SelectOp choice) {
    return matchPattern(choice.getFalseValue(), m_Constant());
  });
  if (decision.choices.empty() || isFirst)
    return std::nullopt;
  return decision;
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

/// Whether a value is known in front of the loop, or is the one that it
/// carries.
bool Limit::acceptOperand(Value value, scf::ForOp loop) {
  if (matchPattern(value, m_Constant()) || loop.isDefinedOutsideOfLoop(value))
    return true;
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != loop.getBody() ||
      argument == loop.getInductionVar() || (carried && carried != argument))
    return false;
  carried = argument;
  return true;
}

/// Takes a sum, a product or a difference of one operand that leads to the
/// maximum and others that do not.
bool Limit::acceptStep(const Decision &decision, scf::ForOp loop,
                       Operation *op) {
  auto leads = [&](Value operand) {
    return decision.isOnPath(operand.getDefiningOp());
  };
  if (!isa<arith::MulFOp, arith::AddFOp, arith::SubFOp, math::FmaOp>(op) ||
      llvm::count_if(op->getOperands(), leads) != 1)
    return false;
  unsigned number = std::distance(op->operand_begin(),
                                  llvm::find_if(op->getOperands(), leads));
  bool isSubtracted = isa<arith::SubFOp>(op) && number == 1;
  bool isAddend = isa<math::FmaOp>(op) && number == 2;
  if (isSubtracted || isAddend)
    return false;
  steps.push_back({op, number});
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return leads(operand) || acceptOperand(operand, loop);
  });
}

std::optional<Limit> Limit::find(const Decision &decision) {
  arith::CmpFOp comparison = decision.comparison;
  auto loop = dyn_cast<scf::ForOp>(comparison->getParentOp());
  Limit limit;
  limit.type = cast<VectorType>(comparison.getLhs().getType());
  limit.threshold = getPositive(comparison.getRhs());
  if (!loop || comparison.getPredicate() != arith::CmpFPredicate::OGT ||
      limit.threshold == 0 || !limit.type.getElementType().isF32())
    return std::nullopt;
  LaneReduceOp maximum = decision.maximum;
  for (Value value = comparison.getLhs(); value != maximum.getResult();) {
    Operation *op = value.getDefiningOp();
    if (!decision.isOnPath(op) || !limit.acceptStep(decision, loop, op))
      return std::nullopt;
    value = op->getOperand(limit.steps.back().operand);
  }
  if (!limit.carried)
    return std::nullopt;
  Value next = loop.getTiedLoopYieldedValue(limit.carried)->get();
  limit.choice = next.getDefiningOp<arith::SelectOp>();
  if (!limit.choice || !llvm::is_contained(decision.choices, limit.choice) ||
      limit.choice.getFalseValue() != limit.carried)
    return std::nullopt;
  return limit;
}

Value Limit::build(ImplicitLocOpBuilder &b, Value value) const {
  auto splat = [&](double number) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(
               type, b.getFloatAttr(type.getElementType(), number)));
  };
  // An operand beside the path. Constants may be those of the loop's body.
  auto use = [&](Value operand) -> Value {
    Attribute constant;
    if (matchPattern(operand, m_Constant(&constant)))
      return arith::ConstantOp::create(b, cast<TypedAttr>(constant));
    return operand == carried ? value : operand;
  };
  // Lower than asked by more than the roundings of the way back, so that what
  // the condition itself would find is not missed.
  constexpr double kSlack = 1.0 / 64;
  Value limit = splat(threshold * (1 - kSlack));
  Value isUsable;
  auto require = [&](Value condition) {
    isUsable =
        isUsable ? arith::AndIOp::create(b, isUsable, condition) : condition;
  };
  auto divide = [&](Value factor) {
    if (double number = getPositive(factor)) {
      limit = arith::MulFOp::create(b, limit, splat(1 / number));
      return;
    }
    factor = use(factor);
    limit = arith::DivFOp::create(b, limit, factor);
    require(
        arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, factor, splat(0)));
  };
  for (auto [op, number] : steps) {
    if (isa<arith::SubFOp>(op)) {
      limit = arith::AddFOp::create(b, limit, use(op->getOperand(1)));
      continue;
    }
    Value other = op->getOperand(1 - number);
    if (isa<arith::AddFOp>(op)) {
      limit = arith::SubFOp::create(b, limit, use(other));
      continue;
    }
    if (auto fma = dyn_cast<math::FmaOp>(op))
      limit = arith::SubFOp::create(b, limit, use(fma.getC()));
    divide(other);
  }
  if (most < std::numeric_limits<double>::infinity())
    limit = arith::MinimumFOp::create(b, limit, splat(most));
  if (factor != 1)
    limit = arith::MulFOp::create(b, limit, splat(1 / factor));
  require(arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, limit, splat(0)));
  auto bitsType = VectorType::get(type.getShape(), b.getI32Type());
  Value least = arith::ConstantOp::create(
      b, DenseElementsAttr::get(
             bitsType, isLeast ? -1 : std::numeric_limits<int32_t>::min()));
  Value bits = arith::SelectOp::create(
      b, isUsable, arith::BitcastOp::create(b, bitsType, limit), least);
  return isLeast ? joinElements<arith::MinSIOp>(b, bits) : bits;
}

SmallVector<Value> Limit::carry(ImplicitLocOpBuilder &b,
                                llvm::function_ref<Value(Value)> alsoCarried) {
  auto loop = cast<scf::ForOp>(carried.getOwner()->getParentOp());
  b.setInsertionPoint(loop);
  SmallVector<Value> first = {build(b, loop.getTiedLoopInit(carried)->get())};
  if (alsoCarried)
    first.push_back(alsoCarried(first.front()));
  unsigned number = carried.getArgNumber();
  IRRewriter rewriter(b);
  FailureOr<LoopLikeOpInterface> replaced = loop.replaceWithAdditionalYields(
      rewriter, first, /*replaceInitOperandUsesInLoop=*/false,
      [](OpBuilder &, Location, ArrayRef<BlockArgument> added) {
        return llvm::to_vector_of<Value>(added);
      });
  assert(succeeded(replaced) && "loops can carry more");
  Block *body = cast<scf::ForOp>(replaced->getOperation()).getBody();
  carried = body->getArgument(number);
  return llvm::to_vector_of<Value>(
      body->getArguments().take_back(first.size()));
}
