//===- ElementLoads.cpp - who loads tiles for element code ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Tile/Analysis/ElementLoads.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// Rows of a bulk copy start at multiples of as many bytes.
static constexpr int64_t kUnitBits = 16 * 8;

bool fa3::tile::allowsBulk(ShapedType array, LoadPolicy policy) {
  if (policy != LoadPolicy::Auto)
    return policy == LoadPolicy::Bulk;
  return array.getRank() > 0 && !array.isDynamicDim(array.getRank() - 1) &&
         array.getShape().back() * array.getElementTypeBitWidth() % kUnitBits ==
             0;
}

/// Whether a bulk copy can read from an array.
static bool isBulkSource(Value array) {
  auto memref = cast<MemRefType>(array.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  return memref.getRank() <= 5 &&
         succeeded(memref.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1;
}

bool fa3::tile::isBulkCopy(LoadOp load) {
  return load.getResult().getType().getRank() == 2 &&
         isBulkSource(load.getSource());
}

bool fa3::tile::isBulkRowLoad(LoadOp load) {
  auto role = load->getAttrOfType<StringAttr>(TileDialect::kRoleAttrName);
  unsigned bits = load.getResult().getType().getElementTypeBitWidth();
  return role && role == "load" && load.getResult().getType().getRank() == 1 &&
         !load.getFold() && !load->use_empty() && (bits == 16 || bits == 32) &&
         isBulkSource(load.getSource()) &&
         llvm::all_of(load->getUsers(), [](Operation *user) {
           return isElementwise(user) || isa<BroadcastOp>(user);
         });
}

bool fa3::tile::isThreadLoad(LoadOp load) {
  auto role = load->getAttrOfType<StringAttr>(TileDialect::kRoleAttrName);
  return role && role == "math";
}

bool fa3::tile::isElementLoad(LoadOp load) {
  unsigned bits = load.getResult().getType().getElementTypeBitWidth();
  return !load->use_empty() && (bits == 16 || bits == 32) &&
         llvm::all_of(load->getUsers(),
                      [](Operation *user) { return isElementwise(user); });
}

bool fa3::tile::hasWholeRows(LoadOp load) {
  constexpr int64_t kUnitBits = 32 * 8;
  RankedTensorType tile = load.getResult().getType();
  return tile.getShape().back() * tile.getElementTypeBitWidth() % kUnitBits ==
         0;
}
