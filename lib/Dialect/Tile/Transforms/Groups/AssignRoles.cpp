//===- AssignRoles.cpp - tile-assign-roles --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Utils.h"
#include "AssignSums.h"
#include "OperandCode.h"
#include "fa3/Dialect/Tile/Analysis/ElementLoads.h"
#include "fa3/Dialect/Tile/IR/ExactOps.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Builders.h"

namespace fa3::tile {
#define GEN_PASS_DEF_ASSIGNROLES
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3::tile;

/// Whether the tile is only an operand of products: then it is read from shared
/// memory by the tensor core and never held in registers by those who compute.
/// Changes of its layout on the way are collected.
static bool feedsProductsOnly(Value tile,
                              SmallVectorImpl<Operation *> &conversions) {
  return !tile.use_empty() && llvm::all_of(tile.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (!isa<RelabelOp, TransposeOp>(user))
      return isa<DotOp>(user) && use.getOperandNumber() < 2;
    conversions.push_back(user);
    return feedsProductsOnly(user->getResult(0), conversions);
  });
}

/// Moves an operation, and what it is computed from, in front of `target`, if
/// all of that has no effects.
static bool hoistBefore(Operation *op, Operation *target) {
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *other) {
    return target->isProperAncestor(other);
  };
  if (failed(getBackwardSlice(op, &slice, options)) ||
      !llvm::all_of(slice, [](Operation *other) {
        return isPure(other) || isa<LoadOp>(other);
      }))
    return false;
  for (Operation *other : mlir::topologicalSort(slice))
    other->moveBefore(target);
  return true;
}

/// Takes a load out of the guards around it.
static bool hoistOverGuards(LoadOp load) {
  while (auto guard = dyn_cast<scf::IfOp>(load->getParentOp())) {
    if (!guard.getCondition().getDefiningOp<AnyPossibleOp>())
      return true;
    if (!hoistBefore(load, guard))
      return false;
  }
  return true;
}

namespace {
struct AssignRoles : fa3::tile::impl::AssignRolesBase<AssignRoles> {
  using AssignRolesBase::AssignRolesBase;
  void runOnOperation() override {
    (void)forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
      assign(kernel, loads);
      return success();
    });
  }

  void assign(gpu::GPUFuncOp kernel, LoadPolicy policy) {
    StringAttr load = StringAttr::get(&getContext(), "load");
    StringAttr convert = StringAttr::get(&getContext(), "convert");
    StringAttr math = StringAttr::get(&getContext(), "math");
    SmallVector<LoadOp> elementLoads;
    kernel.walk([&](Operation *op) {
      if (auto read = dyn_cast<LoadOp>(op)) {
        SmallVector<Operation *> conversions;
        bool isLoad = isBulkCopy(read) &&
                      (feedsProductsOnly(read.getResult(), conversions) ||
                       findOperandCode(read));
        if (isLoad)
          for (Operation *conversion : conversions)
            conversion->setAttr(TileDialect::kRoleAttrName, convert);
        else if (isBulkElementLoad(read, policy))
          elementLoads.push_back(read);
        numLoads += isLoad;
        op->setAttr(TileDialect::kRoleAttrName, isLoad ? load : math);
      } else if (isa<StoreOp, AddExactOp>(op)) {
        op->setAttr(TileDialect::kRoleAttrName, math);
      }
    });
    for (LoadOp read : elementLoads)
      if (hoistOverGuards(read)) {
        read->setAttr(TileDialect::kRoleAttrName, load);
        ++numLoads;
        ++numElementLoads;
      }
    numSums += assignSums(kernel);
  }
};
} // namespace
