//===- Signatures.cpp - builtin tensors at the border of functions --------===//
// SPDX-License-Identifier: Apache-2.0
#include "AttentionProblem.h"
#include "Foreign.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace fa3::convert;

/// A function whose arguments of torch are only cast takes builtin tensors, and
/// one whose results are casts gives them.
void fa3::convert::convertSignatures(Operation *operation) {
  auto function = dyn_cast<func::FuncOp>(operation);
  if (!function || !llvm::hasSingleElement(function.getBody()))
    return;
  Operation *table =
      SymbolTable::getNearestSymbolTable(function->getParentOp());
  if (!table || !SymbolTable::symbolKnownUseEmpty(function, table))
    return;
  Block &body = function.getBody().front();
  auto ret = dyn_cast<func::ReturnOp>(body.getTerminator());
  if (!ret)
    return;
  for (BlockArgument argument : body.getArguments()) {
    RankedTensorType type = getTensorType(argument);
    auto isCast = [&](Operation *user) {
      return getName(user) == "torch_c.to_builtin_tensor" &&
             user->getNumOperands() == 1 && user->getNumResults() == 1 &&
             user->getResult(0).getType() == type;
    };
    if (!type || !isVTensor(argument.getType()) ||
        !llvm::all_of(argument.getUsers(), isCast))
      continue;
    argument.setType(type);
    for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
      user->getResult(0).replaceAllUsesWith(argument);
      user->erase();
    }
  }
  for (OpOperand &operand : ret->getOpOperands()) {
    Operation *cast = operand.get().getDefiningOp();
    if (getName(cast) != "torch_c.from_builtin_tensor" ||
        cast->getNumOperands() != 1 ||
        !isa<RankedTensorType>(cast->getOperand(0).getType()))
      continue;
    operand.set(cast->getOperand(0));
    if (cast->use_empty())
      cast->erase();
  }
  // Constants that the other project has made for nothing.
  SmallVector<Operation *> dead;
  for (Operation &op : body)
    if (op.use_empty() && !op.isRegistered())
      dead.push_back(&op);
  eraseDead(dead);
  function.setFunctionType(FunctionType::get(
      function.getContext(), body.getArgumentTypes(), ret.getOperandTypes()));
}
