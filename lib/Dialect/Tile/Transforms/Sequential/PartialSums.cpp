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

std::optional<SmallVector<ReduceOp>> fa3::tile::findTotals(Value start) {
  SmallVector<ReduceOp> totals;
  SmallVector<Value> worklist = {start};
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *op = use.getOwner();
      unsigned number = use.getOperandNumber();
      if (auto reduce = dyn_cast<ReduceOp>(op)) {
        if (reduce.getKind() != ReduceKind::add || reduce.getDim() != 1)
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
      bool isLinear = isa<arith::AddFOp>(op) ||
                      (isa<math::FmaOp>(op) && number == 2) ||
                      (isa<arith::MulFOp, math::FmaOp>(op) &&
                       isSameAlongRows(op->getOperand(number == 0 ? 1 : 0)));
      if (!isLinear)
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
