//===- MathExpansion.cpp - functions without an instruction ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// They become code of functions that have one, element by element, so that the
// values in between of one element do not wait for those of all others.
//===----------------------------------------------------------------------===//

#include "../Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace fa3;

/// By polynomials (upstream's, of f32), and by others.
static constexpr StringLiteral kApproximated[] = {
    "math.acos", "math.asin",  "math.atan", "math.cbrt",
    "math.erf",  "math.expm1", "math.log1p"};
static constexpr StringLiteral kExpanded[] = {"acosh", "asinh", "atanh", "cosh",
                                              "fpowi", "round", "sinh",  "tan"};

static bool isToExpand(Operation *op) {
  StringRef name = op->getName().getStringRef();
  return llvm::is_contained(kApproximated, name) ||
         isa<math::PowFOp, math::Atan2Op>(op) ||
         (name.consume_front("math.") && llvm::is_contained(kExpanded, name));
}

/// The operation on one element, whose floats are widened to f32.
static Operation *createOnElement(ImplicitLocOpBuilder &b, Operation *op,
                                  SmallVector<Value> operands) {
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  Type f32 = b.getF32Type(), type = element;
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32) {
    type = f32;
    for (Value &operand : operands)
      operand = arith::ExtFOp::create(b, f32, operand);
  }
  OperationState state(op->getLoc(), op->getName(), operands, {type},
                       op->getAttrs());
  return b.create(state);
}

/// x to the power of a constant: whole ones by products, which are right for
/// negative x, by an operation that is appended to `scalars`; null for others.
static Value createPower(ImplicitLocOpBuilder &b, Value x,
                         const APFloat &constant,
                         SmallVectorImpl<Operation *> &scalars) {
  double y = constant.convertToDouble();
  if (y == 0.5)
    return math::SqrtOp::create(b, x);
  if (std::trunc(y) != y || std::abs(y) > 64)
    return {};
  Value one = arith::ConstantOp::create(b, b.getF32FloatAttr(1));
  if (y == 0.0)
    return one;
  // Upstream's inverse of 0 is always negative.
  auto power = math::FPowIOp::create(
      b, x,
      arith::ConstantOp::create(
          b, b.getI32IntegerAttr(static_cast<int32_t>(std::abs(y)))));
  scalars.push_back(power);
  return y > 0 ? power.getResult()
               : arith::DivFOp::create(b, one, power).getResult();
}

/// x to the power y, as C's pow has it: exp2(y log2|x|), which is negative for
/// negative x and odd y and a NaN for negative x and y that are not whole.
static Value createPower(ImplicitLocOpBuilder &b, Value x, Value y) {
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  auto compare = [&](arith::CmpFPredicate how, Value left, Value right) {
    return arith::CmpFOp::create(b, how, left, right).getResult();
  };
  auto select = [&](Value condition, Value left, Value right) {
    return arith::SelectOp::create(b, condition, left, right).getResult();
  };
  using P = arith::CmpFPredicate;
  Value zero = constant(0), one = constant(1);
  Value size = math::AbsFOp::create(b, x);
  Value power = math::Exp2Op::create(
      b, arith::MulFOp::create(b, y, math::Log2Op::create(b, size)));
  // Infinitely often, too.
  power = select(compare(P::OEQ, size, one), one, power);
  Value half = arith::MulFOp::create(b, y, constant(0.5));
  Value floor = math::FloorOp::create(b, y);
  Value isOdd = arith::AndIOp::create(
      b, compare(P::OEQ, y, floor),
      compare(P::UNE, half, math::FloorOp::create(b, half)));
  power = select(isOdd, math::CopySignOp::create(b, power, x), power);
  Value isUndefined = arith::AndIOp::create(b, compare(P::OLT, x, zero),
                                            compare(P::UNE, y, floor));
  power = select(isUndefined, constant(std::numeric_limits<float>::quiet_NaN()),
                 power);
  return select(compare(P::OEQ, y, zero), one, power);
}

/// Powers on f32; `exponent` is the number that the second operand is, if it is
/// one. Upstream's expansion has no negative x.
static void expandPower(math::PowFOp op, const std::optional<APFloat> &exponent,
                        SmallVectorImpl<Operation *> &scalars) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value power;
  if (exponent)
    power = createPower(b, op.getLhs(), *exponent, scalars);
  if (!power)
    power = createPower(b, op.getLhs(), op.getRhs());
  op.replaceAllUsesWith(power);
  op.erase();
}

/// The angle of (x, y), as C's atan2 has it, also where both are zeros or
/// infinite; returns the atan in it. Upstream's has no signs of zeros.
static Operation *expandAngle(math::Atan2Op op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  auto isEqual = [&](Value left, Value right) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, left, right);
  };
  Value y = op.getLhs(), x = op.getRhs(), zero = constant(0), one = constant(1);
  Value height = math::AbsFOp::create(b, y), width = math::AbsFOp::create(b, x);
  Value alike = arith::SelectOp::create(b, isEqual(height, zero), zero, one);
  Value slope =
      arith::SelectOp::create(b, isEqual(height, width), alike,
                              arith::DivFOp::create(b, height, width));
  auto atan = math::AtanOp::create(b, slope);
  Value isLeft = arith::CmpFOp::create(
      b, arith::CmpFPredicate::OLT, math::CopySignOp::create(b, one, x), zero);
  Value other =
      arith::SubFOp::create(b, constant(llvm::numbers::pi_v<float>), atan);
  Value angle = arith::SelectOp::create(b, isLeft, other, atan);
  op.replaceAllUsesWith(math::CopySignOp::create(b, angle, y).getResult());
  op.erase();
  return atan;
}

/// The number that an exponent is everywhere.
static std::optional<APFloat> getExponent(Operation *op) {
  auto power = dyn_cast<math::PowFOp>(op);
  APFloat value(0.0f);
  if (!power || !matchPattern(power.getRhs(), m_ConstantFloat(&value)))
    return std::nullopt;
  return value;
}

/// Replaces an operation on fragments by one for each element, which are
/// appended to `scalars`.
static void scalarize(Operation *op, SmallVectorImpl<Operation *> &scalars) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Type type = op->getResult(0).getType(), element = getElementTypeOrSelf(type);
  auto compute = [&](SmallVector<Value> operands) -> Value {
    Operation *scalar = createOnElement(b, op, std::move(operands));
    scalars.push_back(scalar);
    Value result = scalar->getResult(0);
    return result.getType() == element
               ? result
               : arith::TruncFOp::create(b, element, result).getResult();
  };
  Value result;
  if (auto fragment = dyn_cast<VectorType>(type)) {
    SmallVector<ValueRange> lists;
    for (Value operand : op->getOperands())
      lists.push_back(vector::ToElementsOp::create(b, operand).getElements());
    SmallVector<Value> results;
    for (int64_t i = 0; i < fragment.getNumElements(); ++i)
      results.push_back(compute(llvm::map_to_vector(
          lists, [&](ValueRange list) -> Value { return list[i]; })));
    result = vector::FromElementsOp::create(b, fragment, results);
  } else {
    result = compute(llvm::to_vector(op->getOperands()));
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

LogicalResult fa3::expandMath(gpu::GPUFuncOp kernel) {
  SmallVector<Operation *> ops, scalars;
  kernel.walk([&](Operation *op) {
    if (isToExpand(op))
      ops.push_back(op);
  });
  if (ops.empty())
    return success();
  for (Operation *op : ops) {
    Type element = getElementTypeOrSelf(op->getResult(0).getType());
    if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() > 32)
      return op->emitOpError("has no instruction for ") << element;
    std::optional<APFloat> exponent = getExponent(op);
    SmallVector<Operation *> made;
    scalarize(op, made);
    for (Operation *scalar : made) {
      if (auto power = dyn_cast<math::PowFOp>(scalar)) {
        expandPower(power, exponent, scalars);
        continue;
      }
      auto angle = dyn_cast<math::Atan2Op>(scalar);
      scalars.push_back(angle ? expandAngle(angle) : scalar);
    }
  }
  RewritePatternSet patterns(kernel.getContext());
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return llvm::is_contained(kApproximated, name);
  });
  SmallVector<StringRef> expanded(std::begin(kExpanded), std::end(kExpanded));
  math::populateExpansionPatterns(patterns, expanded);
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  if (failed(applyOpPatternsGreedily(scalars, std::move(patterns), config)))
    return kernel.emitOpError("has mathematical functions whose expansion does "
                              "not come to an end");
  return success();
}
