//===- AssignRoles.cpp - tile-assign-roles --------------------------------===//

#include "Utils.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace fa3::tile {
#define GEN_PASS_DEF_ASSIGNROLES
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3::tile;

/// A bulk copy (TMA) takes tiles of rank 2 from arrays of rank up to 5 whose
/// last dimension is contiguous.
static bool isBulkCopy(LoadOp load) {
  auto memref = cast<MemRefType>(load.getSource().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  return load.getResult().getType().getRank() == 2 && memref.getRank() <= 5 &&
         succeeded(memref.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1;
}

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

namespace {
struct AssignRoles : fa3::tile::impl::AssignRolesBase<AssignRoles> {
  using AssignRolesBase::AssignRolesBase;
  void runOnOperation() override {
    StringAttr load = StringAttr::get(&getContext(), "load");
    StringAttr convert = StringAttr::get(&getContext(), "convert");
    StringAttr math = StringAttr::get(&getContext(), "math");
    (void)forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
      kernel.walk([&](Operation *op) {
        if (auto read = dyn_cast<LoadOp>(op)) {
          SmallVector<Operation *> conversions;
          bool isLoad = isBulkCopy(read) &&
                        feedsProductsOnly(read.getResult(), conversions);
          if (isLoad)
            for (Operation *conversion : conversions)
              conversion->setAttr(TileDialect::kRoleAttrName, convert);
          loads += isLoad;
          op->setAttr(TileDialect::kRoleAttrName, isLoad ? load : math);
        } else if (isa<StoreOp>(op)) {
          op->setAttr(TileDialect::kRoleAttrName, math);
        }
      });
      return success();
    });
  }
};
} // namespace
