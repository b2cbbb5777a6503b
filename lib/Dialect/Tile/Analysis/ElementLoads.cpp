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

bool fa3::tile::isBulkCopy(LoadOp load) {
  auto memref = cast<MemRefType>(load.getSource().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  return load.getResult().getType().getRank() == 2 && memref.getRank() <= 5 &&
         succeeded(memref.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1;
}

bool fa3::tile::isElementLoad(LoadOp load) {
  unsigned bits = load.getResult().getType().getElementTypeBitWidth();
  return !load->use_empty() && (bits == 16 || bits == 32) &&
         llvm::all_of(load->getUsers(),
                      [](Operation *user) { return isElementwise(user); });
}
