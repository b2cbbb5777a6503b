//===- RowTerms.cpp - terms that a whole row of a tile has ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// In x + broadcast(r) every element of a row adds the same number. It is moved
// along the uses of the sum, through element code that is linear, until it
// meets the maximum of a row, which it shifts, or a fused product whose addend
// is a tile of rows, too.
//===----------------------------------------------------------------------===//

#include "RowTerms.h"
#include "../Utils.h"
#include "fa3/Dialect/Tile/Analysis/RegisterCount.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Machine/RegisterModel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

static bool isRowBroadcast(Value tile) {
  auto broadcast = tile.getDefiningOp<BroadcastOp>();
  return broadcast && broadcast.getDim() == 1;
}

/// Whether a tile is the same along its rows, so that it has an equivalent of
/// rank 1.
static bool isOfRows(Value tile) {
  SplatElementsAttr constant;
  return isRowBroadcast(tile) || tile.getDefiningOp<tensor::SplatOp>() ||
         matchPattern(tile, m_Constant(&constant));
}

/// That equivalent.
static Value getRows(ImplicitLocOpBuilder &b, Value tile) {
  if (isRowBroadcast(tile))
    return tile.getDefiningOp<BroadcastOp>().getSource();
  auto type = cast<RankedTensorType>(tile.getType());
  auto rows =
      RankedTensorType::get({type.getDimSize(0)}, type.getElementType());
  if (auto splat = tile.getDefiningOp<tensor::SplatOp>())
    return tensor::SplatOp::create(b, splat.getInput(), rows);
  SplatElementsAttr constant;
  matchPattern(tile, m_Constant(&constant));
  return arith::ConstantOp::create(b, constant.resizeSplat(rows));
}

static bool isNegativeInfinity(Value tile) {
  SplatElementsAttr constant;
  if (!matchPattern(tile, m_Constant(&constant)))
    return false;
  APFloat value = constant.getSplatValue<APFloat>();
  return value.isInfinity() && value.isNegative();
}

static bool takesRowTerm(OpOperand &use);

/// Whether every user of x + broadcast(r) has a form that does without the sum.
static bool takeRowTerm(Value sum) {
  return !sum.use_empty() && llvm::all_of(sum.getUses(), takesRowTerm);
}

static bool takesRowTerm(OpOperand &use) {
  Operation *user = use.getOwner();
  // Rounding is monotone: the maximum of sums is the sum with the maximum.
  if (auto reduce = dyn_cast<ReduceOp>(user))
    return reduce.getKind() == ReduceKind::max && reduce.getDim() == 1 &&
           !reduce.getModulo() && !reduce.getInit();
  if (auto select = dyn_cast<arith::SelectOp>(user))
    return use.getOperandNumber() == 1 &&
           isNegativeInfinity(select.getFalseValue()) &&
           takeRowTerm(select.getResult());
  if (isa<arith::NegFOp>(user))
    return takeRowTerm(user->getResult(0));
  if (!mayReassociate(user))
    return false;
  if (auto fma = dyn_cast<math::FmaOp>(user))
    return use.getOperandNumber() == 0 && isOfRows(fma.getB()) &&
           isOfRows(fma.getC());
  if (!isa<arith::MulFOp, arith::AddFOp, arith::SubFOp>(user))
    return false;
  Value other = user->getOperand(1 - use.getOperandNumber());
  return other != use.get() && takeRowTerm(user->getResult(0)) &&
         (!isa<arith::MulFOp>(user) || isOfRows(other));
}

/// x * factor, in rank 1 if x repeats a line.
static Value scale(ImplicitLocOpBuilder &b, Value x, Value factor,
                   arith::FastMathFlagsAttr flags) {
  auto lines = x.getDefiningOp<BroadcastOp>();
  auto splat = factor.getDefiningOp<tensor::SplatOp>();
  if (!lines || !splat)
    return arith::MulFOp::create(b, x, factor, flags);
  Value line = lines.getSource();
  Value factors = tensor::SplatOp::create(
      b, splat.getInput(), cast<RankedTensorType>(line.getType()));
  line = arith::MulFOp::create(b, line, factors, flags);
  return BroadcastOp::create(b, x.getType(), line, lines.getDim());
}

static Value negate(ImplicitLocOpBuilder &b, Value x) {
  auto columns = x.getDefiningOp<BroadcastOp>();
  if (!columns)
    return arith::NegFOp::create(b, x);
  Value negated = arith::NegFOp::create(b, columns.getSource());
  return BroadcastOp::create(b, x.getType(), negated, columns.getDim());
}

static void takeOut(Value sum, Value rest, Value rows);

/// Replaces a user of rest + broadcast(rows) that multiplies or adds.
static void takeOutOfArithmetic(ImplicitLocOpBuilder &b, OpOperand &use,
                                Value rest, Value rows) {
  Operation *user = use.getOwner();
  auto flags = cast<arith::ArithFastMathInterface>(user).getFastMathFlagsAttr();
  if (auto fma = dyn_cast<math::FmaOp>(user)) {
    Value factor = getRows(b, fma.getB());
    Value addend =
        math::FmaOp::create(b, rows, factor, getRows(b, fma.getC()), flags);
    addend = BroadcastOp::create(b, fma.getType(), addend, 1);
    fma.replaceAllUsesWith(
        math::FmaOp::create(b, rest, fma.getB(), addend, flags).getResult());
    return;
  }
  bool isRight = use.getOperandNumber() == 1;
  Value other = user->getOperand(isRight ? 0 : 1);
  if (isa<arith::MulFOp>(user)) {
    rest = scale(b, rest, other, flags);
    rows = arith::MulFOp::create(b, rows, getRows(b, other), flags);
  } else if (isa<arith::AddFOp>(user)) {
    rest = arith::AddFOp::create(b, other, rest, flags);
  } else if (isRight) {
    rest = arith::SubFOp::create(b, other, rest, flags);
    rows = negate(b, rows);
  } else {
    rest = arith::SubFOp::create(b, rest, other, flags);
  }
  takeOut(user->getResult(0), rest, rows);
}

/// Replaces `sum` = rest + broadcast(rows), whose users all take a row term.
static void takeOut(Value sum, Value rest, Value rows) {
  for (OpOperand &use : llvm::make_early_inc_range(sum.getUses())) {
    Operation *user = use.getOwner();
    ImplicitLocOpBuilder b(user->getLoc(), user);
    if (auto reduce = dyn_cast<ReduceOp>(user)) {
      Value maximum = ReduceOp::create(b, reduce.getType(), reduce.getKind(),
                                       rest, Value(), 1, IntegerAttr());
      reduce.replaceAllUsesWith(
          arith::AddFOp::create(b, maximum, rows).getResult());
    } else if (auto select = dyn_cast<arith::SelectOp>(user)) {
      takeOut(select.getResult(),
              arith::SelectOp::create(b, select.getCondition(), rest,
                                      select.getFalseValue()),
              rows);
    } else if (auto neg = dyn_cast<arith::NegFOp>(user)) {
      Value negated = negate(b, rest);
      takeOut(neg.getResult(), negated, negate(b, rows));
    } else {
      takeOutOfArithmetic(b, use, rest, rows);
    }
    user->erase();
  }
}

static bool isRowSum(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp>(op) && mayReassociate(op) &&
         isa<RankedTensorType>(op->getResult(0).getType()) &&
         llvm::any_of(op->getOperands(), isRowBroadcast);
}

/// Replaces a sum with a term of rows, which all its users take.
static void takeOut(Operation *sum) {
  ImplicitLocOpBuilder b(sum->getLoc(), sum);
  Value lhs = sum->getOperand(0), rhs = sum->getOperand(1);
  bool isSum = isa<arith::AddFOp>(sum);
  if (isRowBroadcast(lhs)) {
    Value rest = isSum ? rhs : negate(b, rhs);
    takeOut(sum->getResult(0), rest, getRows(b, lhs));
  } else {
    Value rows = getRows(b, rhs);
    takeOut(sum->getResult(0), lhs, isSum ? rows : negate(b, rows));
  }
  sum->erase();
}

/// Whether consumers have registers for the numbers of columns that are left of
/// a sum: ptxas computes them once and would rather spill others.
static bool leavesRegisters(gpu::GPUFuncOp kernel, Operation *sum) {
  const Chip &chip = getChip(kernel);
  const RegisterModel &model = getRegisterModel(chip);
  BroadcastOp columns;
  for (Value operand : sum->getOperands())
    if (auto broadcast = operand.getDefiningOp<BroadcastOp>();
        broadcast && broadcast.getDim() == 0)
      columns = broadcast;
  if (!columns)
    return true;
  bool isKnown = true, hasBytes = false;
  kernel.walk([&](GridOp grid) {
    isKnown = matchPattern(grid.getUpperBounds().front(), m_Constant());
  });
  kernel.walk([&](DotOp dot) {
    auto lhs = dyn_cast<RankedTensorType>(dot.getLhs().getType());
    hasBytes |= lhs && lhs.getElementTypeBitWidth() == 8;
  });
  RegisterCount count =
      countRegisters(kernel, isKnown, LoadPolicy::Auto, /*hasEnds=*/false);
  count.registers +=
      countColumnRegisters(columns.getType().getDimSize(1), chip) +
      (isKnown ? 0 : model.termsOfUnknown) +
      (hasBytes ? model.termsOfBytes : 0);
  return count.registers <= model.getTermsBudget(count.groups);
}

unsigned fa3::tile::takeOutRowTerms(gpu::GPUFuncOp kernel) {
  // A sum may be among the users of another: one at a time.
  unsigned count = 0;
  auto takeOutFirst = [&](Operation *op) {
    if (!isRowSum(op) || !takeRowTerm(op->getResult(0)) ||
        !leavesRegisters(kernel, op))
      return WalkResult::advance();
    takeOut(op);
    return WalkResult::interrupt();
  };
  while (kernel.walk(takeOutFirst).wasInterrupted())
    ++count;
  return count;
}
