//===- Comparisons.cpp - comparisons of minima and maxima -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Comparisons.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fa3;

/// The comparison of y and x that says what this one says of x and y.
static arith::CmpIPredicate getReversed(arith::CmpIPredicate predicate) {
  using Predicate = arith::CmpIPredicate;
  switch (predicate) {
  case Predicate::slt:
    return Predicate::sgt;
  case Predicate::sle:
    return Predicate::sge;
  case Predicate::sgt:
    return Predicate::slt;
  case Predicate::sge:
    return Predicate::sle;
  default:
    return predicate; // of no order
  }
}

/// Splits a comparison whose left side is a minimum, maximum or absolute value
/// of its own. Gives the two comparisons, null if there is nothing to split.
static std::pair<arith::CmpIOp, arith::CmpIOp> split(arith::CmpIOp compare) {
  using Predicate = arith::CmpIPredicate;
  Predicate predicate = compare.getPredicate();
  bool isBelow = predicate == Predicate::slt || predicate == Predicate::sle;
  if (!isBelow && predicate != Predicate::sgt && predicate != Predicate::sge)
    return {};
  Value lhs = compare.getLhs(), rhs = compare.getRhs();
  if (!isa<RankedTensorType>(lhs.getType()) ||
      !getElementTypeOrSelf(lhs.getType()).isIndex())
    return {};
  auto getExtremum = [](Value value) -> Operation * {
    Operation *op = value.getDefiningOp();
    bool isOne =
        isa_and_present<math::AbsIOp, arith::MaxSIOp, arith::MinSIOp>(op);
    return isOne && op->hasOneUse() ? op : nullptr;
  };
  Operation *op = getExtremum(lhs);
  if (!op) {
    op = getExtremum(rhs);
    if (!op)
      return {};
    // y >= x is x <= y.
    std::swap(lhs, rhs);
    isBelow = !isBelow;
    predicate = getReversed(predicate);
  }
  ImplicitLocOpBuilder b(compare.getLoc(), compare);
  auto first = arith::CmpIOp::create(b, predicate, op->getOperand(0), rhs);
  Value second = op->getOperand(op->getNumOperands() - 1), bound = rhs;
  Predicate opposite = predicate;
  if (isa<math::AbsIOp>(op)) {
    // -x <= y is x >= -y.
    Value zero = arith::ConstantOp::create(
        b, cast<TypedAttr>(b.getZeroAttr(rhs.getType())));
    bound = b.createOrFold<arith::SubIOp>(zero, rhs);
    opposite = getReversed(predicate);
  }
  auto other = arith::CmpIOp::create(b, opposite, second, bound);
  bool isMaximum = !isa<arith::MinSIOp>(op);
  Value both = isMaximum == isBelow
                   ? arith::AndIOp::create(b, first, other).getResult()
                   : arith::OrIOp::create(b, first, other).getResult();
  compare.replaceAllUsesWith(both);
  compare.erase();
  op->erase();
  return {first, other};
}

unsigned fa3::tile::splitComparisons(gpu::GPUFuncOp kernel) {
  SmallVector<arith::CmpIOp> worklist;
  kernel.walk([&](arith::CmpIOp compare) { worklist.push_back(compare); });
  unsigned count = 0;
  while (!worklist.empty()) {
    auto [first, second] = split(worklist.pop_back_val());
    if (!first)
      continue;
    ++count;
    worklist.append({first, second});
  }
  return count;
}
