//===- ScoreRange.cpp - intervals of score code ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ScoreRange.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
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

namespace {
/// Ranges of values that were asked for before.
class Intervals {
public:
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

  llvm::DenseMap<Value, ScoreRange> known;
};
} // namespace

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
      .Case([&](arith::SelectOp) {
        ScoreRange a = operand(1), b = operand(2);
        return ScoreRange{std::min(a.low, b.low), std::max(a.high, b.high)};
      })
      .Default([](Operation *) { return ScoreRange(); });
}

ScoreRange fa3::getScoreRange(Value value) { return Intervals().get(value); }

std::optional<double> fa3::getSharedReference(ScoreRange scores,
                                              double factor) {
  if (!isBounded(scores) || scores.low > scores.high)
    return std::nullopt;
  double low = scores.low * factor, high = scores.high * factor;
  if (high - kMostWeight > low - kLeastWeight)
    return std::nullopt;
  return std::clamp(0.0, high - kMostWeight, low - kLeastWeight);
}
