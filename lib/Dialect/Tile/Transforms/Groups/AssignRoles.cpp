//===- AssignRoles.cpp - tile-assign-roles --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Utils.h"
#include "AssignSums.h"
#include "OperandCode.h"
#include "fa3/Dialect/Tile/Analysis/ElementLoads.h"
#include "fa3/Dialect/Tile/IR/OrderedOps.h"
#include "fa3/Dialect/Tile/IR/TileExactOps.h"
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
    if (!isConversion(user))
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

/// Whether who stores can compute a scalar by itself: nothing that others load
/// or compute goes into it.
static bool isComputedAlone(Value scalar) {
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.inclusive = true;
  if (isa<BlockArgument>(scalar))
    return true;
  return succeeded(getBackwardSlice(scalar, &slice, options)) &&
         llvm::all_of(slice, [](Operation *op) {
           return isMemoryEffectFree(op) && !isa<LoadOp, DotOp, GatherOp>(op) &&
                  op->getNumRegions() == 0;
         });
}

/// Whether a group of its own can follow the loops and branches around an
/// operation. Of a guard all groups have to make the same
/// (tile-resolve-guards): a loop has one at most.
static bool canFollow(Operation *op) {
  for (Operation *at = op; !isa<gpu::GPUFuncOp>(at->getParentOp());
       at = at->getParentOp()) {
    Operation *parent = at->getParentOp();
    auto branch = dyn_cast<scf::IfOp>(parent);
    if (branch ? !isComputedAlone(branch.getCondition())
               : !isa<scf::ForOp>(parent))
      return false;
    for (auto other : at->getBlock()->getOps<scf::IfOp>())
      if (other != at && other.getCondition().getDefiningOp<AnyPossibleOp>())
        return false;
  }
  return true;
}

/// The additions in one order and their ends, if a group of its own can make
/// them: those who compute then wait for no other tile.
static SmallVector<Operation *> findOrdered(gpu::GPUFuncOp kernel) {
  SmallVector<Operation *> found;
  WalkResult result = kernel.walk([&](Operation *op) {
    auto store = dyn_cast<StoreOp>(op);
    bool isOrdered = store && store.getTarget().getDefiningOp<OrderedOp>();
    if (!isOrdered && !isa<EndOrderedOp>(op))
      return WalkResult::advance();
    found.push_back(op);
    bool isAlone = llvm::all_of(op->getOperands(), [&](Value operand) {
      return (store && operand == store.getValue()) || isComputedAlone(operand);
    });
    return WalkResult(success(isAlone && canFollow(op)));
  });
  return result.wasInterrupted() ? SmallVector<Operation *>() : found;
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
      } else if (isa<StoreOp, AddExactOp, EndOrderedOp>(op)) {
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
    if (warpSpecialize)
      for (Operation *op : findOrdered(kernel))
        op->setAttr(TileDialect::kRoleAttrName,
                    StringAttr::get(&getContext(), "store"));
  }
};
} // namespace
