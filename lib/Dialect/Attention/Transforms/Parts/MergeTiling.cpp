//===- MergeTiling.cpp - tiles of attention.merge -------------------------===//
//
// By the dimensions of lse; and the slices that tiles of attention are on.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "TileSlices.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/TilingInterface.h"

using namespace mlir;
using namespace fa3::attention;

bool fa3::attention::isWhole(OpFoldResult offset, OpFoldResult size,
                             Value tensor, int64_t axis) {
  if (getConstantIntValue(offset) != 0)
    return false;
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(axis))
    return getConstantIntValue(size) == type.getDimSize(axis);
  auto value = dyn_cast<Value>(size);
  auto dim = value ? value.getDefiningOp<tensor::DimOp>() : tensor::DimOp();
  return dim && dim.getSource() == tensor && dim.getConstantIndex() == axis;
}

Value fa3::attention::takeSlice(OpBuilder &b, Location loc, Value tensor,
                                ArrayRef<TilePart> parts,
                                SmallVectorImpl<Operation *> &slices) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, tensor),
                            offsets(sizes.size(), b.getIndexAttr(0)),
                            strides(sizes.size(), b.getIndexAttr(1));
  bool some = false;
  for (auto [axis, offset, size] : parts) {
    some |= !isWhole(offset, size, tensor, axis);
    offsets[axis] = offset;
    sizes[axis] = size;
  }
  if (!some)
    return tensor;
  auto op =
      tensor::ExtractSliceOp::create(b, loc, tensor, offsets, sizes, strides);
  slices.push_back(op);
  return op;
}

namespace {
struct MergeTiling : TilingInterface::ExternalModel<MergeTiling, MergeOp> {
  static int64_t getRank(Operation *op) {
    return cast<MergeOp>(op).getRankOfO() - 1;
  }

  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *op) const {
    return SmallVector<utils::IteratorType>(getRank(op),
                                            utils::IteratorType::parallel);
  }

  SmallVector<Range> getIterationDomain(Operation *op, OpBuilder &b) const {
    SmallVector<Range> domain;
    for (int64_t dim = 0; dim < getRank(op); ++dim)
      domain.push_back(
          {b.getIndexAttr(0),
           tensor::getMixedSize(b, op->getLoc(),
                                cast<MergeOp>(op).getLseParts(), dim + 1),
           b.getIndexAttr(1)});
    return domain;
  }

  FailureOr<TilingResult>
  getTiledImplementation(Operation *op, OpBuilder &b,
                         ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> sizes) const {
    auto merge = cast<MergeOp>(op);
    Location loc = op->getLoc();
    SmallVector<TilePart> ofParts, ofLse;
    for (int64_t dim = 0; dim < getRank(op); ++dim) {
      ofLse.push_back({dim + 1, offsets[dim], sizes[dim]});
      ofParts.push_back({merge.getAxisOfO(dim) + 1, offsets[dim], sizes[dim]});
    }
    SmallVector<Operation *> slices;
    Value parts = takeSlice(b, loc, merge.getParts(), ofParts, slices),
          lse = takeSlice(b, loc, merge.getLseParts(), ofLse, slices),
          sinks = merge.getSinks();
    int64_t head = getRank(op) - 2;
    if (sinks)
      sinks =
          takeSlice(b, loc, sinks, {{0, offsets[head], sizes[head]}}, slices);
    auto drop = [](Value whole, Value like) {
      auto type = cast<RankedTensorType>(like.getType());
      return type.clone(
          cast<RankedTensorType>(whole.getType()).getShape().drop_front());
    };
    auto tile = MergeOp::create(b, loc, drop(parts, merge.getO()),
                                drop(lse, merge.getLse()), parts, lse, sinks,
                                merge.getLayout());
    return TilingResult{{tile}, SmallVector<Value>(tile->getResults()), slices};
  }

  LogicalResult getResultTilePosition(
      Operation *op, OpBuilder &b, unsigned number,
      ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
      SmallVector<OpFoldResult> &at, SmallVector<OpFoldResult> &extents) const {
    auto merge = cast<MergeOp>(op);
    at.assign(offsets.begin(), offsets.end());
    extents.assign(sizes.begin(), sizes.end());
    if (number == 1)
      return success();
    for (int64_t dim = 0; dim < getRank(op); ++dim) {
      at[merge.getAxisOfO(dim)] = offsets[dim];
      extents[merge.getAxisOfO(dim)] = sizes[dim];
    }
    at.push_back(b.getIndexAttr(0));
    extents.push_back(b.getIndexAttr(merge.getO().getType().getShape().back()));
    return success();
  }
};
} // namespace

void fa3::attention::attachMergeTiling(MLIRContext &context) {
  MergeOp::attachInterface<MergeTiling>(context);
}
