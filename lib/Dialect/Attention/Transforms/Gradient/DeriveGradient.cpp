//===- DeriveGradient.cpp - attention-derive-gradient ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reverse mode over straight-line scalar code. What comes back is the
// derivative of the score: everything but the last product is known before the
// gradient of the score is, and one number for each pair has to wait for it. A
// derivative is a value times a constant factor, so that constants are
// multiplied once.
//===----------------------------------------------------------------------===//

#include "DeriveGradient.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <cmath>

namespace fa3::attention {
#define GEN_PASS_DEF_DERIVEGRADIENT
#include "fa3/Dialect/Attention/Transforms/Passes.h.inc"
} // namespace fa3::attention

using namespace mlir;
using namespace fa3::attention;

/// The flags of products whose rounding is free.
static arith::FastMathFlagsAttr getFlexible(ImplicitLocOpBuilder &b) {
  return arith::FastMathFlagsAttr::get(b.getContext(),
                                       arith::FastMathFlags::contract |
                                           arith::FastMathFlags::reassoc);
}

static Value multiply(ImplicitLocOpBuilder &b, Value value, double factor) {
  // A number and its inverse in f32 cancel up to their rounding.
  constexpr double kRounding = 0x1p-22;
  if (std::abs(factor - 1) <= kRounding)
    return value;
  if (std::abs(factor + 1) <= kRounding)
    return arith::NegFOp::create(b, value, getFlexible(b));
  Value constant =
      arith::ConstantOp::create(b, b.getFloatAttr(value.getType(), factor));
  return arith::MulFOp::create(b, value, constant, getFlexible(b));
}

namespace {
/// The derivative of what the code yields: a value times a factor, or
/// that factor alone. Rounding is free: it is multiplied with a gradient in the
/// end.
struct Derivative {
  Value value;
  double factor = 1;
};

/// A region of code, where its gradient goes, what they are called, and the
/// auxiliary operands whose gradients it yields.
struct Differentiated {
  Region &code, &gradient;
  StringRef name, gradientName;
  SmallVector<int64_t> aux;
};

/// Derives the score_mod or the epilogue region of one operation.
class Derivation {
public:
  Derivation(BackwardOp op, Differentiated regions)
      : b(op.getLoc(), op.getContext()), op(op), regions(std::move(regions)) {}

  LogicalResult run();

private:
  void cloneCode();
  LogicalResult visit(Operation &inner);
  void add(Value value, Derivative derivative);
  Value makeNumber(Type type, double number);
  Value materialize(Derivative derivative, Type type);
  Value getGradient(Value value);
  Value getGradientOfAux(int64_t number);
  void eraseUnused();

  ImplicitLocOpBuilder b;
  BackwardOp op;
  Differentiated regions;
  Block *block = nullptr;
  SmallVector<Operation *> primal; ///< the code, in order
  Value yielded;
  /// What depends on the first argument, or on an operand whose gradient is
  /// asked for.
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, Derivative> derivatives;
};
} // namespace

/// The code again, and what of it has a gradient.
void Derivation::cloneCode() {
  Block &score = regions.code.front();
  block = &regions.gradient.emplaceBlock();
  Type f32 = b.getF32Type();
  block->addArguments({f32, f32}, {op.getLoc(), op.getLoc()});
  for (BlockArgument index : score.getArguments().drop_front())
    block->addArgument(index.getType(), index.getLoc());
  b.setInsertionPointToEnd(block);
  IRMapping mapping;
  mapping.map(score.getArgument(0), block->getArgument(0));
  for (auto [from, to] : llvm::zip(score.getArguments().drop_front(),
                                   block->getArguments().drop_front(2)))
    mapping.map(from, to);
  active.insert(block->getArgument(0));
  for (Operation &inner : score.without_terminator()) {
    Operation *copy = b.clone(inner, mapping);
    primal.push_back(copy);
    if (auto read = dyn_cast<tensor::ExtractOp>(copy)) {
      if (llvm::any_of(regions.aux, [&](int64_t number) {
            return read.getTensor() == op.getAux()[number];
          }))
        active.insert(read.getResult());
      continue;
    }
    if (llvm::any_of(copy->getOperands(),
                     [&](Value value) { return active.contains(value); }))
      for (Value result : copy->getResults())
        if (isa<FloatType>(result.getType()))
          active.insert(result);
  }
  yielded =
      mapping.lookupOrDefault(cast<YieldOp>(score.getTerminator()).getValue());
}

Value Derivation::makeNumber(Type type, double number) {
  return arith::ConstantOp::create(b, b.getFloatAttr(type, number));
}

Value Derivation::materialize(Derivative derivative, Type type) {
  if (!derivative.value)
    return makeNumber(type, derivative.factor);
  return multiply(b, derivative.value, derivative.factor);
}

/// The sum of what two arms of one choice contribute, as a choice; null where
/// they are something else.
static Value addArms(ImplicitLocOpBuilder &b, Value x, Value y) {
  auto first = x.getDefiningOp<arith::SelectOp>(),
       second = y.getDefiningOp<arith::SelectOp>();
  if (!first || !second || first.getCondition() != second.getCondition())
    return Value();
  if (matchPattern(first.getTrueValue(), m_AnyZeroFloat()))
    std::swap(first, second);
  if (!matchPattern(first.getFalseValue(), m_AnyZeroFloat()) ||
      !matchPattern(second.getTrueValue(), m_AnyZeroFloat()))
    return Value();
  return arith::SelectOp::create(b, first.getCondition(), first.getTrueValue(),
                                 second.getFalseValue());
}

void Derivation::add(Value value, Derivative derivative) {
  bool isZero = !derivative.value && derivative.factor == 0;
  if (isZero || !active.contains(value))
    return;
  auto [it, isNew] = derivatives.try_emplace(value, derivative);
  if (isNew)
    return;
  Derivative &sum = it->second;
  if (!sum.value && !derivative.value) {
    sum.factor += derivative.factor;
    return;
  }
  Type type = value.getType();
  Value x = materialize(sum, type), y = materialize(derivative, type);
  Value arms = addArms(b, x, y);
  sum = {arms ? arms : arith::AddFOp::create(b, x, y).getResult(), 1};
}

/// The constant that a product multiplies the other operand with, if its
/// rounding is free.
static std::optional<double> getFactor(arith::MulFOp product, Value &other) {
  if (!bitEnumContainsAll(product.getFastmath(), arith::FastMathFlags::reassoc))
    return std::nullopt;
  FloatAttr constant;
  other = product.getLhs();
  if (matchPattern(product.getRhs(), m_Constant(&constant)))
    return constant.getValueAsDouble();
  other = product.getRhs();
  if (matchPattern(product.getLhs(), m_Constant(&constant)))
    return constant.getValueAsDouble();
  return std::nullopt;
}

/// The read of an auxiliary operand that an operation widens, if it does.
static tensor::ExtractOp getWidenedRead(Operation &op) {
  auto extension = dyn_cast<arith::ExtFOp>(op);
  return extension ? extension.getIn().getDefiningOp<tensor::ExtractOp>()
                   : tensor::ExtractOp();
}

LogicalResult Derivation::visit(Operation &inner) {
  // Elements pass nothing on, and their gradients stay as wide as they are.
  if (inner.getNumResults() != 1 || !active.contains(inner.getResult(0)) ||
      isa<tensor::ExtractOp>(inner) || getWidenedRead(inner))
    return success();
  auto it = derivatives.find(inner.getResult(0));
  if (it == derivatives.end())
    return success();
  Derivative derivative = it->second;
  b.setLoc(inner.getLoc());
  if (auto product = dyn_cast<arith::MulFOp>(inner)) {
    Value other;
    if (std::optional<double> factor = getFactor(product, other)) {
      add(other, {derivative.value, derivative.factor * *factor});
      return success();
    }
  }
  auto known = dyn_cast<GradientOpInterface>(inner);
  if (!known) {
    InFlightDiagnostic diagnostic =
        inner.emitOpError("in '")
        << regions.name << "' has no derivative that is known: write a '"
        << regions.gradientName << "' region";
    diagnostic.attachNote(op.getLoc()) << "its gradient is asked for here";
    return diagnostic;
  }
  Value value = derivative.value ? derivative.value
                                 : makeNumber(inner.getResult(0).getType(), 1);
  SmallVector<Value> parts = known.buildGradients(b, value);
  for (auto [operand, part] : llvm::zip_equal(inner.getOperands(), parts)) {
    if (!part)
      continue;
    FloatAttr constant;
    if (matchPattern(part, m_Constant(&constant)))
      add(operand, {Value(), derivative.factor * constant.getValueAsDouble()});
    else
      add(operand, {part, derivative.factor});
  }
  return success();
}

void Derivation::eraseUnused() {
  SmallVector<Operation *> all;
  for (Operation &inner : block->without_terminator())
    all.push_back(&inner);
  for (Operation *inner : llvm::reverse(all))
    if (isOpTriviallyDead(inner))
      inner->erase();
}

/// The gradient of a value: its derivative times the gradient of the result,
/// which the code gets; 0 without one.
Value Derivation::getGradient(Value value) {
  auto it = derivatives.find(value);
  Value ofScore = block->getArgument(1);
  if (it == derivatives.end())
    return makeNumber(ofScore.getType(), 0);
  Derivative derivative = it->second;
  if (!derivative.value)
    return multiply(b, ofScore, derivative.factor);
  Value widened = materialize(derivative, value.getType());
  if (!widened.getType().isF32())
    widened = arith::ExtFOp::create(b, b.getF32Type(), widened);
  return arith::MulFOp::create(b, ofScore, widened, getFlexible(b));
}

/// What a pair adds to the element that it reads, over all reads, as f32.
Value Derivation::getGradientOfAux(int64_t number) {
  Value sum;
  for (Operation *inner : primal) {
    auto read = dyn_cast<tensor::ExtractOp>(inner);
    if (!read)
      read = getWidenedRead(*inner);
    if (!read || read.getTensor() != op.getAux()[number] ||
        !derivatives.contains(inner->getResult(0)))
      continue;
    Value part = getGradient(inner->getResult(0));
    sum = sum ? arith::AddFOp::create(b, sum, part).getResult() : part;
  }
  return sum ? sum : getGradient(Value());
}

LogicalResult Derivation::run() {
  cloneCode();
  if (active.contains(yielded))
    derivatives[yielded] = {};
  for (Operation *inner : llvm::reverse(primal))
    if (failed(visit(*inner))) {
      block->erase();
      return failure();
    }
  b.setLoc(op.getLoc());
  SmallVector<Value> results = {getGradient(block->getArgument(0))};
  for (int64_t number : regions.aux)
    results.push_back(getGradientOfAux(number));
  YieldOp::create(b, results);
  eraseUnused();
  return success();
}

LogicalResult fa3::attention::deriveScoreGradient(BackwardOp op) {
  return Derivation(op, {op.getScoreMod(), op.getScoreGradRegion(), "score_mod",
                         "score_grad", op.getAuxNumbers(/*ofEpilogue=*/false)})
      .run();
}

LogicalResult fa3::attention::deriveEpilogueGradient(BackwardOp op) {
  return Derivation(op,
                    {op.getEpilogue(), op.getEpilogueGradRegion(), "epilogue",
                     "epilogue_grad", op.getAuxNumbers(/*ofEpilogue=*/true)})
      .run();
}

namespace {
struct DeriveGradient
    : fa3::attention::impl::DeriveGradientBase<DeriveGradient> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](BackwardOp op) {
      LogicalResult result = success();
      if (!op.getScoreMod().empty() && op.getScoreGradRegion().empty()) {
        ++numDerived;
        result = deriveScoreGradient(op);
      }
      if (succeeded(result) && !op.getEpilogue().empty() &&
          op.getEpilogueGradRegion().empty()) {
        ++numDerived;
        result = deriveEpilogueGradient(op);
      }
      return WalkResult(result);
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
