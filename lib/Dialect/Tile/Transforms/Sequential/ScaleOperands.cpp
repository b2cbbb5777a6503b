//===- ScaleOperands.cpp - tile-scale-operands ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// c * tanh(k s) of small arguments is s (a c k + b c k^3 s^2), as is any
// function with a short form (ShortForm.h). If s came out of the product f
// times larger, with f^3 = -b c k^3, the cubic coefficient would be -1, and the
// whole two fused multiplications. s is a product with an operand that a loop
// leaves alone, which can be scaled in front of it.
//===----------------------------------------------------------------------===//

#include "../Utils.h"
#include "PartialSums.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "fa3/Support/PositiveConstant.h"
#include "fa3/Support/ShortForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace fa3::tile {
#define GEN_PASS_DEF_SCALEOPERANDS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

namespace {
/// scale * function(factor * product).
struct CappedProduct {
  DotOp dot;
  arith::MulFOp argument;
  double factor = 0, scale = 0;
  const ShortForm *form = nullptr;
};
} // namespace

/// The constant that a value, masked or not, is multiplied by in sums; 0 if
/// there is not exactly one.
static double getScale(Value function) {
  double scale = 0;
  SmallVector<Value> values = {function};
  while (!values.empty()) {
    Value value = values.pop_back_val();
    for (Operation *user : value.getUsers()) {
      if (isa<arith::SelectOp>(user))
        values.push_back(user->getResult(0));
      auto fma = dyn_cast<math::FmaOp>(user);
      if (!fma || fma.getA() != value)
        continue;
      double other = mayReassociate(fma) ? getPositive(fma.getB()) : 0;
      if (other == 0 || (scale != 0 && scale != other))
        return 0;
      scale = other;
    }
  }
  return scale;
}

/// Whether a loop runs often enough, as far as its bounds tell: what fewer
/// iterations gain is less than scaling costs.
static bool isLong(scf::ForOp loop, const ShortForm &form) {
  int64_t least = std::max<int64_t>(12, form.leastIterations);
  if (std::optional<APInt> iterations = loop.getStaticTripCount())
    return iterations->sge(least);
  std::optional<int64_t> end = getConstantIntValue(loop.getUpperBound());
  return !end || *end >= least;
}

static std::optional<CappedProduct> matchCapped(DotOp dot) {
  CappedProduct capped{dot};
  if (!dot.getResult().hasOneUse() ||
      !matchPattern(dot.getAcc(), m_AnyZeroFloat()))
    return std::nullopt;
  capped.argument = dyn_cast<arith::MulFOp>(*dot->getUsers().begin());
  if (!capped.argument || !capped.argument->hasOneUse() ||
      capped.argument.getLhs() != dot.getResult() ||
      !mayReassociate(capped.argument))
    return std::nullopt;
  capped.factor = getPositive(capped.argument.getRhs());
  Operation *function = *capped.argument->getUsers().begin();
  capped.form = findShortForm(function);
  if (!capped.form || capped.factor == 0)
    return std::nullopt;
  capped.scale = getScale(function->getResult(0));
  return capped.scale == 0 ? std::nullopt : std::optional(capped);
}

/// The products that a loaded tile is the left operand of and nothing else, if
/// all of them are capped alike and a loop that leaves the tile alone is around
/// one, which runs often unless any will do.
static SmallVector<CappedProduct> findProducts(LoadOp load, bool always) {
  SmallVector<CappedProduct> products;
  bool hasLoop = false;
  for (OpOperand &use : load.getResult().getUses()) {
    auto dot = dyn_cast<DotOp>(use.getOwner());
    std::optional<CappedProduct> capped;
    if (dot && use.getOperandNumber() == 0 && dot.getLhsOrder() == LhsOrder::mk)
      capped = matchCapped(dot);
    if (!capped ||
        (!products.empty() && (capped->form != products.front().form ||
                               capped->factor != products.front().factor ||
                               capped->scale != products.front().scale)))
      return {};
    products.push_back(*capped);
    auto loop = dot->getParentOfType<scf::ForOp>();
    hasLoop |= loop && !loop->isAncestor(load) &&
               (always || isLong(loop, *capped->form));
  }
  return hasLoop ? products : SmallVector<CappedProduct>();
}

/// tile * factor, with one rounding: the factor is the sum of two numbers of
/// the tile's type, of one sign, so that infinities stay what they are. Sets
/// the factor to that sum.
static Value scale(ImplicitLocOpBuilder &b, Value tile, double &factor) {
  auto type = cast<RankedTensorType>(tile.getType());
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type.getElementType()).getFloatSemantics();
  auto round = [&](double number, APFloat::roundingMode mode) {
    APFloat rounded(number);
    bool losesInfo;
    rounded.convert(semantics, mode, &losesInfo);
    return rounded;
  };
  auto splat = [&](const APFloat &number) -> Value {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, number));
  };
  APFloat high = round(factor, APFloat::rmTowardZero);
  APFloat low =
      round(factor - high.convertToDouble(), APFloat::rmNearestTiesToEven);
  factor = high.convertToDouble() + low.convertToDouble();
  if (low.isZero())
    return arith::MulFOp::create(b, tile, splat(high));
  Value rest = arith::MulFOp::create(b, tile, splat(low));
  return math::FmaOp::create(b, tile, splat(high), rest);
}

/// Whether all totals of the kernel, of which there are some, do nothing but
/// divide: a quotient of two sums hides errors that their logarithm shows.
static bool onlyDivides(gpu::GPUFuncOp kernel) {
  bool divides = false;
  WalkResult result = kernel.walk([&](ReduceOp reduce) {
    if (reduce.getKind() != ReduceKind::add || reduce.getModulo())
      return WalkResult::advance();
    divides = true;
    return WalkResult(success(onlyDivides(reduce)));
  });
  return divides && !result.wasInterrupted();
}

/// Whether a product and its likes leave time for fewer multiplications to
/// show: those of more columns keep the tensor core busy all the time.
static bool isWorthIt(DotOp dot) {
  constexpr int64_t kMostColumns = 128;
  return cast<RankedTensorType>(dot.getLhs().getType()).getDimSize(1) <=
         kMostColumns;
}

static bool scaleLoaded(LoadOp load, bool always) {
  Type element = load.getType().getElementType();
  if (!element.isF16() && !element.isBF16())
    return false;
  SmallVector<CappedProduct> products = findProducts(load, always);
  if (products.empty())
    return false;
  if (!always && (!isWorthIt(products.front().dot) ||
                  !onlyDivides(load->getParentOfType<gpu::GPUFuncOp>())))
    return false;
  const CappedProduct &first = products.front();
  double factor = first.factor * std::cbrt(-first.form->cubic * first.scale);
  // Numbers of order 1 stay far from where f16 has fewer bits, and from its
  // end.
  if (element.isF16() && (factor < 0x1p-9 || factor > 1))
    return false;
  ImplicitLocOpBuilder b(load.getLoc(), load);
  b.setInsertionPointAfter(load);
  Value scaled = scale(b, load.getResult(), factor);
  for (const CappedProduct &capped : products) {
    DotOp dot = capped.dot;
    dot.getLhsMutable().assign(scaled);
    arith::MulFOp argument = capped.argument;
    b.setInsertionPoint(argument);
    auto type = cast<RankedTensorType>(argument.getType());
    argument.getRhsMutable().assign(arith::ConstantOp::create(
        b, DenseElementsAttr::get(
               type, b.getF32FloatAttr(capped.factor / factor).getValue())));
  }
  return true;
}

namespace {
struct ScaleOperands : fa3::tile::impl::ScaleOperandsBase<ScaleOperands> {
  using ScaleOperandsBase::ScaleOperandsBase;

  void runOnOperation() override {
    if (scaleOperands == options::ScaleOperands::Never)
      return;
    (void)forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
      SmallVector<LoadOp> loads;
      kernel.walk([&](LoadOp load) { loads.push_back(load); });
      for (LoadOp load : loads)
        scaled +=
            scaleLoaded(load, scaleOperands == options::ScaleOperands::Always);
      return success();
    });
  }
};
} // namespace
