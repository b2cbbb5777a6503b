//===- PartialSums.cpp - what becomes of partial sums ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "PartialSums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

bool fa3::tile::isSameAlongRows(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    return broadcast.getDim() == 1;
  SplatElementsAttr constant;
  return value.getDefiningOp<tensor::SplatOp>() ||
         matchPattern(value, m_Constant(&constant));
}

/// Whether totals of the kind are of the result as they were of an operand.
static bool keepsTotals(ReduceKind kind, OpOperand &use) {
  Operation *op = use.getOwner();
  unsigned number = use.getOperandNumber();
  bool isScaled = isa<arith::MulFOp, math::FmaOp>(op) && number < 2 &&
                  isSameAlongRows(op->getOperand(1 - number));
  if (kind == ReduceKind::max)
    return isa<arith::MaxNumFOp>(op) || (isScaled && isa<arith::MulFOp>(op));
  return isa<arith::AddFOp>(op) || (isa<math::FmaOp>(op) && number == 2) ||
         isScaled;
}

std::optional<SmallVector<ReduceOp>> fa3::tile::findTotals(ReduceOp partial) {
  SmallVector<ReduceOp> totals;
  SmallVector<Value> worklist = {partial.getResult()};
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *op = use.getOwner();
      unsigned number = use.getOperandNumber();
      if (auto reduce = dyn_cast<ReduceOp>(op)) {
        if (reduce.getKind() != partial.getKind() || reduce.getDim() != 1)
          return std::nullopt;
        if (reduce.getModulo() || value == reduce.getInit())
          worklist.push_back(reduce.getResult());
        else
          totals.push_back(reduce);
        continue;
      }
      if (auto yield = dyn_cast<scf::YieldOp>(op)) {
        Operation *parent = yield->getParentOp();
        if (!isa<scf::ForOp, scf::IfOp>(parent))
          return std::nullopt;
        worklist.push_back(parent->getResult(number));
        if (auto loop = dyn_cast<scf::ForOp>(parent))
          worklist.push_back(loop.getRegionIterArg(number));
        continue;
      }
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        worklist.push_back(loop.getTiedLoopResult(&use));
        worklist.push_back(loop.getTiedLoopRegionIterArg(&use));
        continue;
      }
      if (auto where = dyn_cast<WhereOp>(op)) {
        if (number == 0)
          return std::nullopt;
        worklist.push_back(where.getResult(number - 1));
        continue;
      }
      if (auto yield = dyn_cast<YieldOp>(op)) {
        if (!isa<WhereOp>(yield->getParentOp()))
          return std::nullopt;
        worklist.push_back(yield->getParentOp()->getResult(number));
        continue;
      }
      if (!keepsTotals(partial.getKind(), use))
        return std::nullopt;
      worklist.push_back(op->getResult(0));
    }
  }
  return totals;
}

bool fa3::tile::onlyDivides(ReduceOp total) {
  return llvm::all_of(total.getResult().getUses(), [](OpOperand &use) {
    return isa<arith::CmpFOp>(use.getOwner()) ||
           (isa<arith::DivFOp>(use.getOwner()) && use.getOperandNumber() == 1);
  });
}
