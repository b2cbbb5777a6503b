//===- ScoreRange.cpp - intervals of score code ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ScoreRange.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/ConstantRange.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace fa3;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

static bool isBounded(ScoreRange range) {
  return std::isfinite(range.low) && std::isfinite(range.high);
}

/// Sums and products of bounded ranges.
template <typename Combine>
static ScoreRange combine(ScoreRange a, ScoreRange b, Combine &&function) {
  if (!isBounded(a) || !isBounded(b))
    return {};
  double values[] = {function(a.low, b.low), function(a.low, b.high),
                     function(a.high, b.low), function(a.high, b.high)};
  auto [low, high] = std::minmax_element(std::begin(values), std::end(values));
  return {*low, *high};
}

/// The least, or the largest, of two: one bounded side of one of them is one of
/// the result.
template <typename Choose>
static ScoreRange choose(ScoreRange a, ScoreRange b, Choose &&function) {
  if (a.low > a.high || b.low > b.high)
    return {};
  return {function(a.low, b.low), function(a.high, b.high)};
}

/// The numbers of an element type.
static ScoreRange getRangeOfType(FloatType element) {
  APFloat largest = APFloat::getLargest(element.getFloatSemantics());
  bool losesInfo;
  largest.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
  double most = largest.convertToDouble();
  return {-most, most};
}

/// What a sequence has of queries, keys, and what else is counted.
static ConstantIntRanges getCounts() {
  return ConstantIntRanges::fromSigned(APInt(64, 0), APInt(64, 1 << 20));
}

/// `index` is of 32 bits in a kernel, where sums and products wrap around.
static ConstantIntRanges wrap(Type type, const ConstantIntRanges &range) {
  if (!type.isIndex() ||
      (range.smin().isSignedIntN(32) && range.smax().isSignedIntN(32)))
    return range;
  return ConstantIntRanges::fromSigned(APInt::getSignedMinValue(32).sext(64),
                                       APInt::getSignedMaxValue(32).sext(64));
}

namespace {
/// Ranges of values that were asked for before.
class Intervals {
public:
  Intervals(Value value, ScoreRange range) {
    if (value)
      known[value] = range;
  }

  ScoreRange get(Value value) {
    auto [it, isNew] = known.try_emplace(value);
    if (!isNew)
      return it->second;
    ScoreRange range = compute(value);
    known[value] = range;
    return range;
  }

private:
  ScoreRange compute(Value value);
  ScoreRange getConverted(Value value, bool isSigned);
  ConstantIntRanges computeInteger(Value value);
  ConstantIntRanges getInteger(Value value) {
    if (auto found = integers.find(value); found != integers.end())
      return found->second;
    ConstantIntRanges range = wrap(value.getType(), computeInteger(value));
    integers.insert({value, range});
    return range;
  }

  llvm::DenseMap<Value, ScoreRange> known;
  llvm::DenseMap<Value, ConstantIntRanges> integers;
};
} // namespace

ConstantIntRanges Intervals::computeInteger(Value value) {
  auto most = ConstantIntRanges::maxRange(
      ConstantIntRanges::getStorageBitwidth(value.getType()));
  Operation *op = value.getDefiningOp();
  if (!op || isa<tensor::DimOp, attention::LengthOp>(op))
    return value.getType().isIndex() ? getCounts() : most;
  if (auto size = dyn_cast<math::AbsIOp>(op)) {
    ConstantIntRanges of = getInteger(size.getOperand());
    auto range =
        llvm::ConstantRange::getNonEmpty(of.smin(), of.smax() + 1).abs();
    return ConstantIntRanges::fromSigned(range.getSignedMin(),
                                         range.getSignedMax());
  }
  auto inferred = dyn_cast<InferIntRangeInterface>(op);
  if (!inferred || !llvm::all_of(op->getOperandTypes(),
                                 [](Type type) { return type.isIntOrIndex(); }))
    return most;
  SmallVector<ConstantIntRanges> operands;
  for (Value operand : op->getOperands())
    operands.push_back(getInteger(operand));
  inferred.inferResultRanges(operands,
                             [&](Value result, const ConstantIntRanges &range) {
                               if (result == value)
                                 most = range;
                             });
  return most;
}

/// The range of a whole number that becomes a float.
ScoreRange Intervals::getConverted(Value value, bool isSigned) {
  ConstantIntRanges range = getInteger(value);
  if (isSigned)
    return {range.smin().roundToDouble(/*isSigned=*/true),
            range.smax().roundToDouble(/*isSigned=*/true)};
  if (value.getType().isIndex() && range.smin().isNegative())
    return {0, 0x1p32};
  return {range.umin().roundToDouble(/*isSigned=*/false),
          range.umax().roundToDouble(/*isSigned=*/false)};
}

/// Whether a selection is that of the larger, or of the smaller, of its two
/// values, as a clamp is; none otherwise.
static std::optional<bool> choosesLarger(arith::SelectOp select) {
  auto condition = select.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!condition)
    return std::nullopt;
  Value first = condition.getLhs(), second = condition.getRhs();
  bool isStraight =
      first == select.getTrueValue() && second == select.getFalseValue();
  if (!isStraight &&
      (second != select.getTrueValue() || first != select.getFalseValue()))
    return std::nullopt;
  switch (condition.getPredicate()) {
  case arith::CmpFPredicate::OGT:
  case arith::CmpFPredicate::OGE:
    return isStraight;
  case arith::CmpFPredicate::OLT:
  case arith::CmpFPredicate::OLE:
    return !isStraight;
  default:
    return std::nullopt;
  }
}

ScoreRange Intervals::compute(Value value) {
  FloatAttr constant;
  if (matchPattern(value, m_Constant(&constant))) {
    double number = constant.getValueAsDouble();
    if (number == -kInfinity)
      return {kInfinity, -kInfinity};
    return std::isfinite(number) ? ScoreRange{number, number} : ScoreRange();
  }
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  auto operand = [&](unsigned i) { return get(op->getOperand(i)); };
  auto least = [](double x, double y) { return std::min(x, y); };
  auto largest = [](double x, double y) { return std::max(x, y); };
  return llvm::TypeSwitch<Operation *, ScoreRange>(op)
      .Case<math::TanhOp, math::ErfOp, math::SinOp, math::CosOp>(
          [](auto) { return ScoreRange{-1, 1}; })
      .Case([&](arith::MulFOp) {
        return combine(operand(0), operand(1), std::multiplies<double>());
      })
      .Case([&](arith::AddFOp) {
        return combine(operand(0), operand(1), std::plus<double>());
      })
      .Case([&](arith::SubFOp) {
        return combine(operand(0), operand(1), std::minus<double>());
      })
      .Case([&](arith::NegFOp) {
        return combine({0, 0}, operand(0), std::minus<double>());
      })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [&](auto) { return choose(operand(0), operand(1), least); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [&](auto) { return choose(operand(0), operand(1), largest); })
      .Case([&](math::AbsFOp) {
        ScoreRange x = operand(0);
        if (!isBounded(x))
          return ScoreRange{0, kInfinity};
        return ScoreRange{0, std::max(std::abs(x.low), std::abs(x.high))};
      })
      .Case([&](math::FmaOp) {
        return combine(
            combine(operand(0), operand(1), std::multiplies<double>()),
            operand(2), std::plus<double>());
      })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return operand(0); })
      .Case<arith::SIToFPOp, arith::UIToFPOp>([&](auto conversion) {
        bool isSigned = isa<arith::SIToFPOp>(conversion.getOperation());
        return getConverted(conversion.getIn(), isSigned);
      })
      .Case([](tensor::ExtractOp read) {
        // f32 and bf16 have numbers of any size.
        auto element = dyn_cast<FloatType>(read.getType());
        bool isAny = !element || element.isF32() || element.isBF16();
        return isAny ? ScoreRange() : getRangeOfType(element);
      })
      .Case([&](arith::SelectOp select) {
        ScoreRange a = operand(1), b = operand(2);
        if (std::optional<bool> isLarger = choosesLarger(select))
          return *isLarger ? choose(a, b, largest) : choose(a, b, least);
        return ScoreRange{std::min(a.low, b.low), std::max(a.high, b.high)};
      })
      .Default([](Operation *) { return ScoreRange(); });
}

ScoreRange fa3::getScoreRange(Value value, Value known, ScoreRange ofKnown) {
  return Intervals(known, ofKnown).get(value);
}

bool fa3::mayBeLarge(Region &scoreMod, double limit) {
  if (scoreMod.empty())
    return false;
  Block &block = scoreMod.front();
  Value yielded = cast<attention::YieldOp>(block.getTerminator()).getValue();
  ScoreRange range = getScoreRange(yielded, block.getArgument(0),
                                   {-kGreatestProduct, kGreatestProduct});
  // Without numbers nothing is visible.
  return range.low <= range.high && (range.low < -limit || range.high > limit);
}

std::optional<double> fa3::getSharedReference(ScoreRange scores,
                                              double factor) {
  if (!isBounded(scores) || scores.low > scores.high)
    return std::nullopt;
  double low = scores.low * factor, high = scores.high * factor;
  if (high - kMostWeight > low - kLeastWeight)
    return std::nullopt;
  return std::clamp(0.0, high - kMostWeight, low - kLeastWeight);
}
