//===- SumByProducts.cpp - tile-sum-by-products ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Utils.h"
#include "PartialSums.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

namespace fa3::tile {
#define GEN_PASS_DEF_SUMBYPRODUCTS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// Columns of the least product, and of the partial sums that it replaces.
static constexpr int64_t kColumns = 8;

/// A tile before it was rounded to a narrower type, and in the order of columns
/// in which it was computed; `isRounded` tells whether there was a rounding.
static Value getSummands(Value tile, bool &isRounded) {
  isRounded = false;
  while (Operation *op = tile.getDefiningOp()) {
    auto relabel = dyn_cast<RelabelOp>(op);
    if (!isa<arith::TruncFOp>(op) && !(relabel && relabel.getDim() == 1))
      break;
    isRounded |= isa<arith::TruncFOp>(op);
    tile = op->getOperand(0);
  }
  return tile;
}

/// The product in the same block whose left operand is the rounded source.
static DotOp findProduct(ReduceOp reduce) {
  bool isRounded;
  Value summands = getSummands(reduce.getSource(), isRounded);
  if (isRounded)
    return {};
  for (DotOp dot : reduce->getBlock()->getOps<DotOp>())
    if (dot.getLhsOrder() == LhsOrder::mk &&
        isa<RankedTensorType>(dot.getLhs().getType()) &&
        getSummands(dot.getLhs(), isRounded) == summands && isRounded)
      return dot;
  return {};
}

/// Whether the kernel loads tiles for element code, which take registers.
static bool readsTiles(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([](LoadOp load) {
    bool isTile = load.getType().getRank() == 2;
    return isTile && !llvm::all_of(load->getUsers(), isProductOrConversion)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether the product gains more than it costs, and nobody sees the rounding.
/// A step of the tensor core takes twice as many 8-bit elements as 16-bit ones,
/// for the same few cycles; the sums in flight take registers that wide
/// accumulators and tiles beside them lack.
static bool isWorthIt(DotOp product, ArrayRef<ReduceOp> totals) {
  constexpr int64_t kMostColumns = 64;
  return getElementTypeOrSelf(product.getLhs()).getIntOrFloatBitWidth() == 8 &&
         product.getAcc().getType().getDimSize(1) <= kMostColumns &&
         llvm::all_of(totals, onlyDivides) &&
         !readsTiles(product->getParentOfType<gpu::GPUFuncOp>());
}

namespace {
struct SumByProducts : fa3::tile::impl::SumByProductsBase<SumByProducts> {
  using SumByProductsBase::SumByProductsBase;

  void runOnOperation() override {
    if (sums == options::Sums::Exact)
      return;
    (void)forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
      SmallVector<ReduceOp> candidates;
      kernel.walk([&](ReduceOp reduce) {
        if (reduce.getKind() == ReduceKind::add && reduce.getDim() == 1 &&
            reduce.getModulo() == kColumns &&
            reduce.getResult().getType().getElementType().isF32())
          candidates.push_back(reduce);
      });
      for (ReduceOp reduce : candidates)
        replaced += replace(reduce);
      return success();
    });
  }

  bool replace(ReduceOp reduce) {
    DotOp product = findProduct(reduce);
    std::optional<SmallVector<ReduceOp>> totals = findTotals(reduce);
    if (!product || !totals ||
        (sums == options::Sums::Auto && !isWorthIt(product, *totals)))
      return false;
    Operation *place = product.getLhs().getDefiningOp();
    if (place->getBlock() != reduce->getBlock() ||
        place->isBeforeInBlock(reduce))
      place = reduce;
    for (Operation *user : reduce.getResult().getUsers())
      if (!place->isBeforeInBlock(
              place->getBlock()->findAncestorOpInBlock(*user)))
        return false;

    ImplicitLocOpBuilder b(reduce.getLoc(), place);
    b.setInsertionPointAfter(place);
    auto constant = [&](RankedTensorType type, double value) -> Value {
      Attribute number = b.getFloatAttr(type.getElementType(), value);
      return arith::ConstantOp::create(b, DenseElementsAttr::get(type, number));
    };
    auto lhs = cast<RankedTensorType>(product.getLhs().getType());
    Value shares = constant(RankedTensorType::get({kColumns, lhs.getDimSize(1)},
                                                  lhs.getElementType()),
                            1.0 / kColumns);
    Value start = reduce.getInit() ? Value(reduce.getInit())
                                   : constant(reduce.getResult().getType(), 0);
    auto sum = DotOp::create(b, product.getLhs(), shares, start, LhsOrder::mk,
                             RhsOrder::nk);
    reduce.getResult().replaceAllUsesWith(sum.getResult());
    reduce.erase();
    return true;
  }
};
} // namespace
