//===- ShortenFunctions.cpp - hopper-shorten-functions --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Of small arguments a function like tanh is a short polynomial (ShortForm.h).
// Whether all arguments are small is one maximum of absolute values, and it
// answers a second question: since f(k x) <= k |x|, a maximum of all f(k x)
// cannot exceed what no k |x| exceeds. So lanes vote once, and warps that find
// no argument too large go a way of their own, without special functions and
// without that maximum.
//===----------------------------------------------------------------------===//

#include "VoteDecision.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "fa3/Support/ShortForm.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/bit.h"

namespace fa3::hopper {
#define GEN_PASS_DEF_SHORTENFUNCTIONS
#include "fa3/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace fa3::hopper

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

/// Fewer registers of a thread are values of rows: not worth it.
static constexpr int64_t kLeastArguments = 16;
/// How many steps a warp goes the long way without asking after one with an
/// argument that was too large.
static constexpr int32_t kPatience = 16;
/// A coefficient of -1 is one up to the rounding of the factors behind it, to
/// 15 bits or more (tile-scale-operands). That is 2e-6 of the function.
static constexpr double kUnitTolerance = 1e-4;

namespace {
/// f(factor * source) for all scores of a thread, and what hangs on it.
struct Step {
  Decision decision;
  FragmentReduceOp part;
  Operation *function = nullptr;
  const ShortForm *form = nullptr;
  Value source;
  double factor = 1;
  /// What depends on the function and can be computed where it stands, in order
  /// of the block, and of its results those that others use.
  llvm::SetVector<Operation *> operations;
  SmallVector<Value> results;
};
} // namespace

/// Arithmetic of a thread or of the lanes of a warp.
static bool isMovable(Operation *op) {
  return op->getNumRegions() == 0 && op->getNumResults() == 1 &&
         !isa<VoteAnyOp>(op) &&
         (isa<LaneReduceOp>(op) || isMemoryEffectFree(op));
}

static void collectOperations(Step &step) {
  Block *block = step.function->getBlock();
  step.operations.insert(step.function);
  for (Operation *op = step.function->getNextNode(); op;
       op = op->getNextNode()) {
    bool depends = false;
    bool isComplete = llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation *definition = operand.getDefiningOp();
      bool isOurs = definition && step.operations.contains(definition);
      depends |= isOurs;
      return isOurs || !definition || definition->getBlock() != block ||
             definition->isBeforeInBlock(step.function);
    });
    if (depends && isComplete && isMovable(op))
      step.operations.insert(op);
  }
  for (Operation *op : step.operations)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !step.operations.contains(user);
          }))
        step.results.push_back(result);
}

/// Whether numbers are products of integers.
static bool isInteger(Value value) {
  if (auto product = value.getDefiningOp<arith::MulFOp>())
    value = product.getLhs();
  return value.getDefiningOp<arith::SIToFPOp>();
}

/// A vote on a maximum of a function, if all that it decides can move to it.
static std::optional<Step> findStep(VoteAnyOp vote) {
  std::optional<Decision> decision = findDecision(vote);
  if (!decision)
    return std::nullopt;
  Step step{std::move(*decision)};
  step.part =
      step.decision.maximum.getSource().getDefiningOp<FragmentReduceOp>();
  if (!step.part || step.part.getKind() != Combine::max)
    return std::nullopt;
  step.function = step.part.getSource().getDefiningOp();
  step.form = findShortForm(step.function);
  auto loop = dyn_cast<scf::ForOp>(step.decision.comparison->getParentOp());
  if (!step.form || !loop || step.function->getBlock() != loop.getBody())
    return std::nullopt;
  if (std::optional<APInt> iterations = loop.getStaticTripCount();
      iterations && iterations->ult(step.form->leastIterations))
    return std::nullopt;
  auto type = cast<VectorType>(step.function->getResult(0).getType());
  if (!type.getElementType().isF32() || type.getNumElements() < kLeastArguments)
    return std::nullopt;
  step.source = step.function->getOperand(0);
  // ptxas keeps integers beside the floats that they become, and spills.
  if (isInteger(step.source))
    return std::nullopt;
  if (auto product = step.source.getDefiningOp<arith::MulFOp>())
    if (double factor = getPositive(product.getRhs())) {
      step.source = product.getLhs();
      step.factor = factor;
    }
  collectOperations(step);
  bool isWhole =
      llvm::all_of(
          step.decision.path,
          [&](Operation *op) { return step.operations.contains(op); }) &&
      llvm::all_of(step.decision.choices, [&](arith::SelectOp choice) {
        return step.operations.contains(choice);
      });
  return isWhole ? std::optional(std::move(step)) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

static Value splat(ImplicitLocOpBuilder &b, Type type, double value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(cast<VectorType>(type),
                                b.getF32FloatAttr(static_cast<float>(value))));
}

static Value splatInteger(ImplicitLocOpBuilder &b, Type type, int32_t value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(cast<VectorType>(type), value));
}

static Value isNegative(ImplicitLocOpBuilder &b, Value value) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, value,
                               splatInteger(b, value.getType(), 0));
}

/// The bits of the greatest |source| of a thread, or the greatest integer in
/// warps of which a thread is waiting.
static Value findGreatest(ImplicitLocOpBuilder &b, const Step &step,
                          Value isWaiting) {
  OpBuilder::InsertionGuard guard(b);
  FragmentReduceOp part = step.part;
  auto type = VectorType::get(1, b.getI32Type());
  Value waits = VoteAnyOp::create(b, b.getI1Type(), isWaiting);
  auto branch = WarpIfElseOp::create(b, TypeRange(type), waits);
  b.createBlock(&branch.getThenBody());
  YieldOp::create(b,
                  splatInteger(b, type, std::numeric_limits<int32_t>::max()));
  b.createBlock(&branch.getElseBody());
  Value magnitudes = math::AbsFOp::create(b, step.source);
  Value greatest = FragmentReduceOp::create(
      b, part.getResult().getType(), Combine::max, magnitudes, part.getDim(),
      part.getModuloAttr(), part.getFragment());
  auto bitsType = cast<VectorType>(greatest.getType()).clone(b.getI32Type());
  Value bits = arith::BitcastOp::create(b, bitsType, greatest);
  YieldOp::create(b, joinElements<arith::MaxSIOp>(b, bits));
  return branch.getResult(0);
}

/// The limit for the next step behind the long way: a negative one counts the
/// steps of a warp that waits.
static Value getNextLimit(ImplicitLocOpBuilder &b, const Step &step,
                          const Limit &limit, Value bits, Value greatest) {
  Type type = bits.getType();
  Value next = limit.build(b, limit.getChoice());
  int32_t most = llvm::bit_cast<int32_t>(
      static_cast<float>(step.form->mostArgument / step.factor));
  Value isLarge = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, greatest,
                                        splatInteger(b, type, most));
  Value isKnown = arith::CmpIOp::create(
      b, arith::CmpIPredicate::ne, greatest,
      splatInteger(b, type, std::numeric_limits<int32_t>::max()));
  Value patience = splatInteger(b, type, -kPatience);
  next = arith::SelectOp::create(b, arith::AndIOp::create(b, isLarge, isKnown),
                                 patience, next);
  Value counts = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, bits,
                                       splatInteger(b, type, -1));
  Value count = arith::AddIOp::create(b, bits, splatInteger(b, type, 1));
  return arith::SelectOp::create(b, counts, count, next);
}

namespace {
/// What a step computes of arguments below the limit.
class ShortWay {
public:
  ShortWay(ImplicitLocOpBuilder &b, const Step &step) : b(b), step(step) {}

  SmallVector<Value> build() {
    Decision decision = step.decision;
    mapping.map(decision.comparison.getResult(),
                arith::ConstantOp::create(
                    b, b.getZeroAttr(decision.comparison.getType())));
    for (arith::SelectOp choice : decision.choices)
      mapping.map(choice.getResult(), get(choice.getFalseValue()));
    return llvm::map_to_vector(step.results,
                               [&](Value value) { return get(value); });
  }

private:
  /// scale * function / source.
  Value getRatio(double scale) {
    double k = step.factor, cubic = scale * step.form->cubic * k * k * k;
    Value source = step.source;
    // As tile-scale-operands makes it.
    bool isUnit = std::abs(cubic + 1) < kUnitTolerance;
    if (!isUnit && !square)
      square = arith::MulFOp::create(b, source, source);
    Value linear = splat(b, source.getType(), scale * step.form->linear * k);
    if (isUnit)
      return math::FmaOp::create(b, arith::NegFOp::create(b, source), source,
                                 linear);
    return math::FmaOp::create(b, square, splat(b, source.getType(), cubic),
                               linear);
  }

  Value get(Value value) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op || !step.operations.contains(op))
      return value;
    Value result = compute(op);
    mapping.map(value, result);
    return result;
  }

  Value compute(Operation *op) {
    if (op == step.function)
      return arith::MulFOp::create(b, step.source, getRatio(1));
    // A constant times the function is another polynomial.
    if (auto fma = dyn_cast<math::FmaOp>(op);
        fma && fma.getA() == step.function->getResult(0) &&
        bitEnumContainsAll(fma.getFastmath(), arith::FastMathFlags::reassoc))
      if (double scale = getPositive(fma.getB())) {
        Value term = get(fma.getC()), ratio = getRatio(scale);
        return math::FmaOp::create(b, step.source, ratio, term,
                                   fma.getFastmath());
      }
    for (Value operand : op->getOperands())
      get(operand);
    return b.clone(*op, mapping)->getResult(0);
  }

  ImplicitLocOpBuilder &b;
  const Step &step;
  IRMapping mapping;
  Value square;
};
} // namespace

static void split(const Step &step, Limit &limit) {
  Operation *function = step.function;
  ImplicitLocOpBuilder b(function->getLoc(), function);
  SmallVector<Value> carried =
      limit.carry(b, [&](Value bits) { return isNegative(b, bits); });
  Value limitBits = carried.front();
  b.setInsertionPoint(function);
  Value greatest = findGreatest(b, step, carried.back());
  Value exceeds =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sge, greatest, limitBits);
  Value any = VoteAnyOp::create(b, b.getI1Type(), exceeds);

  SmallVector<Value> results(step.results);
  SmallVector<Type> types = llvm::to_vector(TypeRange(ValueRange(results)));
  llvm::append_range(types, TypeRange(ValueRange(carried)));
  auto branch = WarpIfElseOp::create(b, types, any);
  Block *longWay = b.createBlock(&branch.getThenBody());
  Block *shortWay = b.createBlock(&branch.getElseBody());
  SmallVector<Value> shortResults = ShortWay(b, step).build();
  llvm::append_range(shortResults, carried);
  YieldOp::create(b, shortResults);

  for (auto [value, result] : llvm::zip(results, branch.getResults()))
    value.replaceUsesWithIf(result, [&](OpOperand &use) {
      return !step.operations.contains(use.getOwner()) &&
             use.getOwner()->getBlock() != shortWay;
    });
  for (Operation *op : step.operations)
    op->moveBefore(longWay, longWay->end());
  // Nothing is kept for this way that the other one has no use for.
  Value own = function->getOperand(0);
  if (Operation *argument = own.getDefiningOp();
      argument && own != step.source && argument->hasOneUse())
    argument->moveBefore(function);
  b.setInsertionPointToEnd(longWay);
  Value next = getNextLimit(b, step, limit, limitBits, greatest);
  results.push_back(next);
  results.push_back(isNegative(b, next));
  YieldOp::create(b, results);
  auto loop = cast<scf::ForOp>(branch->getParentOp());
  for (auto [operand, result] :
       llvm::zip(llvm::drop_begin(*loop.getYieldedValuesMutable(),
                                  loop.getNumRegionIterArgs() - carried.size()),
                 branch.getResults().take_back(carried.size())))
    operand.set(result);
}

namespace {
struct ShortenFunctions : hopper::impl::ShortenFunctionsBase<ShortenFunctions> {
  using ShortenFunctionsBase::ShortenFunctionsBase;

  void runOnOperation() override {
    llvm::SetVector<Value> conditions;
    getOperation().walk(
        [&](VoteAnyOp vote) { conditions.insert(vote.getSource()); });
    for (Value condition : conditions) {
      auto users = condition.getUsers();
      auto vote = llvm::find_if(
          users, [](Operation *user) { return isa<VoteAnyOp>(user); });
      std::optional<Step> step = findStep(cast<VoteAnyOp>(*vote));
      if (!step)
        continue;
      std::optional<Limit> limit = Limit::find(step->decision);
      if (!limit)
        continue;
      limit->restrictTo(step->form->mostArgument, step->factor);
      split(*step, *limit);
      ++shortened;
    }
  }
};
} // namespace
