//===- DeriveGradient.cpp - attention-derive-gradient ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reverse mode over straight-line scalar code. A gradient is a value times a
// constant factor, so that constants are multiplied once.
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
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
  void eraseUnused();

  ImplicitLocOpBuilder b;
  BackwardOp op;
  Block *block = nullptr;
  SmallVector<Operation *> primal; ///< the code of the score, in order
  Value yielded;
  llvm::DenseSet<Value> active; ///< what depends on the score
  llvm::DenseMap<Value, Gradient> gradients;
};
} // namespace

/// The code of the score again, and what of it depends on the score.
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

LogicalResult Derivation::visit(Operation &inner) {
  if (inner.getNumResults() != 1 || !active.contains(inner.getResult(0)))
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
  auto it = gradients.find(block->getArgument(0));
  Value result =
      it == gradients.end()
          ? arith::ConstantOp::create(b, b.getF32FloatAttr(0)).getResult()
          : materialize(it->second);
  YieldOp::create(b, result);
  eraseUnused();
  return success();
}

namespace {
struct DeriveGradient
    : fa3::attention::impl::DeriveGradientBase<DeriveGradient> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](BackwardOp op) {
      if (op.getScoreMod().empty() || !op.getScoreGradRegion().empty())
        return WalkResult::advance();
      ++numDerived;
      return WalkResult(Derivation(op).run());
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
