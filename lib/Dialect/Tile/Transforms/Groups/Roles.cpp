//===- Roles.cpp - who performs an operation ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Roles.h"
#include "../Utils.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

StringRef fa3::tile::getRole(Operation *op) {
  auto role = op->getAttrOfType<StringAttr>(TileDialect::kRoleAttrName);
  return role ? role.getValue() : "math";
}

SmallVector<StringRef> fa3::tile::getComputingRoles(gpu::GPUFuncOp kernel) {
  llvm::SmallSetVector<StringRef, 2> roles;
  kernel.walk([&](Operation *op) {
    StringRef role = getRole(op);
    if (role != "math" && role.starts_with("math"))
      roles.insert(role);
  });
  SmallVector<StringRef> sorted(roles.getArrayRef());
  llvm::sort(sorted);
  sorted.insert(sorted.begin(), "math");
  return sorted;
}

/// The product that computes a value, through branches and the alternatives of
/// `tile.where`.
static DotOp findProduct(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto dot = dyn_cast<DotOp>(op))
      return dot;
    auto branch = dyn_cast<scf::IfOp>(op);
    if (!branch || !branch.elseBlock())
      return {};
    unsigned index = cast<OpResult>(value).getResultNumber();
    Value then = branch.thenYield().getOperand(index);
    value = then.getDefiningOp() && branch->isAncestor(then.getDefiningOp())
                ? then
                : branch.elseYield().getOperand(index);
  }
  return {};
}

/// Whether `value` is `argument`, or computed from it element by element.
static bool isComputedFrom(Value value, Value argument) {
  if (value == argument)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto where = dyn_cast<WhereOp>(op))
    return isComputedFrom(
        where.getOtherwise()[cast<OpResult>(value).getResultNumber()],
        argument);
  return isElementwise(op) && llvm::any_of(op->getOperands(), [&](Value from) {
           return isComputedFrom(from, argument);
         });
}

SmallVector<CarriedSum> fa3::tile::findCarriedSums(gpu::GPUFuncOp kernel) {
  SmallVector<CarriedSum> sums;
  kernel.walk([&](scf::ForOp loop) {
    for (auto [i, yielded] :
         llvm::enumerate(loop.getBody()->getTerminator()->getOperands())) {
      DotOp dot = findProduct(yielded);
      if (dot && loop->isAncestor(dot) &&
          isComputedFrom(dot.getAcc(), loop.getRegionIterArg(i)))
        sums.push_back({dot, loop, static_cast<unsigned>(i)});
    }
  });
  return sums;
}

Dependents fa3::tile::findDependents(ArrayRef<Value> starts) {
  Dependents found;
  SmallVector<Value> worklist(starts);
  auto add = [&](Value value) {
    if (found.values.insert(value).second)
      worklist.push_back(value);
  };
  for (Value start : starts)
    found.values.insert(start);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (Operation *def = value.getDefiningOp();
        def && !isa<scf::ForOp, scf::IfOp>(def))
      found.operations.insert(def);
    for (OpOperand &use : value.getUses()) {
      Operation *op = use.getOwner();
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        if (loop.getTiedLoopRegionIterArg(&use)) {
          add(loop.getTiedLoopRegionIterArg(&use));
          add(loop.getTiedLoopResult(&use));
        }
        continue;
      }
      if (isa<scf::YieldOp>(op)) {
        unsigned index = use.getOperandNumber();
        add(op->getParentOp()->getResult(index));
        if (auto loop = dyn_cast<scf::ForOp>(op->getParentOp()))
          add(loop.getRegionIterArg(index));
        continue;
      }
      if (auto yield = dyn_cast<YieldOp>(op)) {
        add(yield->getParentOp()->getResult(use.getOperandNumber()));
        continue;
      }
      if (isa<scf::IfOp>(op))
        continue;
      found.operations.insert(op);
      if (auto where = dyn_cast<WhereOp>(op); where && use.getOperandNumber()) {
        add(where.getResult(use.getOperandNumber() - 1));
        continue;
      }
      for (Value result : op->getResults())
        add(result);
    }
  }
  return found;
}
