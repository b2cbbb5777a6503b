//===- DeriveGradient.cpp - attention-derive-gradient ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reverse mode over straight-line scalar code. A gradient is a value times a
// constant factor, so that constants are multiplied once.
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

namespace {
/// A gradient: a value times a factor.
struct Gradient {
  Value value;
  double factor = 1;
};

/// Derives the score_mod region of one operation.
class Derivation {
public:
  explicit Derivation(BackwardOp op)
      : b(op.getLoc(), op.getContext()), op(op) {}

  LogicalResult run();

private:
  void cloneScore();
  LogicalResult visit(Operation &inner);
  void add(Value value, Gradient gradient);
  Value materialize(Gradient gradient);
  Value getGradient(Value value);
  Value getGradientOfAux(int64_t number);
  void eraseUnused();

  ImplicitLocOpBuilder b;
  BackwardOp op;
  Block *block = nullptr;
  SmallVector<Operation *> primal; ///< the code of the score, in order
  Value yielded;
  /// What depends on the score, or on an operand whose gradient is asked for.
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, Gradient> gradients;
};
} // namespace

/// The code of the score again, and what of it has a gradient.
void Derivation::cloneScore() {
  Block &score = op.getScoreMod().front();
  block = &op.getScoreGradRegion().emplaceBlock();
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
      if (llvm::any_of(op.getAuxNumbers(), [&](int64_t number) {
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

Value Derivation::materialize(Gradient gradient) {
  // A number and its inverse in f32 cancel up to their rounding.
  constexpr double kRounding = 0x1p-22;
  if (std::abs(gradient.factor - 1) <= kRounding)
    return gradient.value;
  auto flags = arith::FastMathFlagsAttr::get(b.getContext(),
                                             arith::FastMathFlags::contract |
                                                 arith::FastMathFlags::reassoc);
  Type type = gradient.value.getType();
  Value factor =
      arith::ConstantOp::create(b, b.getFloatAttr(type, gradient.factor));
  return arith::MulFOp::create(b, gradient.value, factor, flags);
}

void Derivation::add(Value value, Gradient gradient) {
  if (!gradient.value || !active.contains(value))
    return;
  auto [it, isNew] = gradients.try_emplace(value, gradient);
  if (isNew)
    return;
  Value sum =
      arith::AddFOp::create(b, materialize(it->second), materialize(gradient));
  gradients[value] = {sum, 1};
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
  auto it = gradients.find(inner.getResult(0));
  if (it == gradients.end())
    return success();
  Gradient gradient = it->second;
  b.setLoc(inner.getLoc());
  if (auto product = dyn_cast<arith::MulFOp>(inner)) {
    Value other;
    if (std::optional<double> factor = getFactor(product, other)) {
      add(other, {gradient.value, gradient.factor * *factor});
      return success();
    }
  }
  auto known = dyn_cast<GradientOpInterface>(inner);
  if (!known) {
    InFlightDiagnostic diagnostic = inner.emitOpError(
        "in 'score_mod' has no derivative that is known: write a "
        "'score_grad' region");
    diagnostic.attachNote(op.getLoc()) << "its gradient is asked for here";
    return diagnostic;
  }
  SmallVector<Value> parts = known.buildGradients(b, gradient.value);
  for (auto [operand, part] : llvm::zip_equal(inner.getOperands(), parts))
    add(operand, {part, gradient.factor});
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

/// The gradient of a value as one number; 0 without one.
Value Derivation::getGradient(Value value) {
  auto it = gradients.find(value);
  return it == gradients.end()
             ? arith::ConstantOp::create(b, b.getF32FloatAttr(0)).getResult()
             : materialize(it->second);
}

/// What a pair adds to the element that it reads, over all reads, as f32.
Value Derivation::getGradientOfAux(int64_t number) {
  Value sum;
  for (Operation *inner : primal) {
    auto read = dyn_cast<tensor::ExtractOp>(inner);
    if (!read)
      read = getWidenedRead(*inner);
    if (!read || read.getTensor() != op.getAux()[number] ||
        !gradients.contains(inner->getResult(0)))
      continue;
    Value part = getGradient(inner->getResult(0));
    if (!part.getType().isF32())
      part = arith::ExtFOp::create(b, b.getF32Type(), part);
    sum = sum ? arith::AddFOp::create(b, sum, part).getResult() : part;
  }
  return sum ? sum : getGradient(Value());
}

LogicalResult Derivation::run() {
  cloneScore();
  if (active.contains(yielded))
    gradients[yielded] = {block->getArgument(1), 1};
  for (Operation *inner : llvm::reverse(primal))
    if (failed(visit(*inner))) {
      block->erase();
      return failure();
    }
  b.setLoc(op.getLoc());
  SmallVector<Value> results = {getGradient(block->getArgument(0))};
  for (int64_t number : op.getAuxNumbers())
    results.push_back(getGradientOfAux(number));
  YieldOp::create(b, results);
  eraseUnused();
  return success();
}

LogicalResult fa3::attention::deriveScoreGradient(BackwardOp op) {
  return Derivation(op).run();
}

namespace {
struct DeriveGradient
    : fa3::attention::impl::DeriveGradientBase<DeriveGradient> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](BackwardOp op) {
      if (op.getScoreMod().empty() || !op.getScoreGradRegion().empty())
        return WalkResult::advance();
      ++numDerived;
      return WalkResult(deriveScoreGradient(op));
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
