//===- OperandCode.cpp - element code of operands -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "OperandCode.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa3::tile;

std::optional<OperandCode> fa3::tile::findOperandCode(LoadOp load) {
  llvm::SmallSetVector<Value, 4> values;
  values.insert(load.getResult());
  OperandCode code;
  for (Operation *op = load->getNextNode(); op; op = op->getNextNode()) {
    bool isCode = isElementwise(op) && isMemoryEffectFree(op) &&
                  op->getNumResults() == 1 &&
                  op->getResult(0).getType() == load.getType();
    bool usesTile = false;
    for (Value operand : op->getOperands()) {
      usesTile |= values.contains(operand);
      isCode &= values.contains(operand) || matchPattern(operand, m_Constant());
    }
    if (!usesTile || !isCode)
      continue;
    code.operations.push_back(op);
    code.result = op->getResult(0);
    values.insert(code.result);
  }
  if (code.operations.empty())
    return std::nullopt;
  for (Value value : values)
    for (OpOperand &use : value.getUses()) {
      auto dot = dyn_cast<DotOp>(use.getOwner());
      bool isOperand = dot && value == code.result &&
                       use.getOperandNumber() == 0 &&
                       dot.getLhsOrder() == LhsOrder::mk;
      if (!isOperand && !llvm::is_contained(code.operations, use.getOwner()))
        return std::nullopt;
    }
  return code;
}
