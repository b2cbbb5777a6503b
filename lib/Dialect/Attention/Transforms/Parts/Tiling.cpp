//===- Tiling.cpp - tiles of attention ------------------------------------===//
//
// attention.forward by batch, query head and query. A tile is the same
// operation on slices; what its regions know of batch, head and query is
// counted from the first one of all on.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Parts.h"
#include "TileSlices.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Dialect/Attention/Transforms/Interfaces.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/TilingInterface.h"

using namespace mlir;
using namespace fa3::attention;

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

/// Whether a number is known to be a multiple of another: what loops over
/// tiles, affine.apply and affine.min make of constants.
static bool isMultipleOf(OpFoldResult number, int64_t factor,
                         unsigned depth = 0) {
  if (factor == 1)
    return true;
  if (std::optional<int64_t> constant = getConstantIntValue(number))
    return *constant % factor == 0;
  constexpr unsigned kMostDepth = 8;
  Value value = cast<Value>(number);
  if (depth == kMostDepth)
    return false;
  auto areMultiples = [&](ArrayRef<OpFoldResult> numbers) {
    return llvm::all_of(numbers, [&](OpFoldResult other) {
      return isMultipleOf(other, factor, depth + 1);
    });
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast_or_null<scf::ForOp>(parent))
      return argument == loop.getInductionVar() &&
             areMultiples({loop.getLowerBound(), loop.getStep()});
    auto loop = dyn_cast_or_null<scf::ForallOp>(parent);
    if (!loop || argument.getArgNumber() >= loop.getRank())
      return false;
    unsigned dim = argument.getArgNumber();
    return areMultiples(
        {loop.getMixedLowerBound()[dim], loop.getMixedStep()[dim]});
  }
  // An operand that is a multiple is a multiple of another one.
  Operation *op = value.getDefiningOp();
  auto apply = dyn_cast<affine::AffineApplyOp>(op);
  auto least = dyn_cast<affine::AffineMinOp>(op);
  if (!apply && !least)
    return false;
  AffineMap map = apply ? apply.getAffineMap() : least.getAffineMap();
  SmallVector<AffineExpr> dims, symbols;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    bool isDim = i < map.getNumDims();
    AffineExpr expr =
        isDim ? getAffineDimExpr(i, op->getContext())
              : getAffineSymbolExpr(i - map.getNumDims(), op->getContext());
    if (isMultipleOf(operand, factor, depth + 1))
      expr = expr * factor;
    (isDim ? dims : symbols).push_back(expr);
  }
  return llvm::all_of(map.getResults(), [&](AffineExpr result) {
    return result.replaceDimsAndSymbols(dims, symbols).isMultipleOf(factor);
  });
}

static OpFoldResult divide(OpBuilder &b, Location loc, OpFoldResult number,
                           int64_t divisor) {
  AffineExpr d0 = b.getAffineDimExpr(0);
  return affine::makeComposedFoldedAffineApply(b, loc, d0.floorDiv(divisor),
                                               {number});
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

namespace {
class ForwardTile {
public:
  ForwardTile(ForwardOp op, OpBuilder &b, ArrayRef<OpFoldResult> offsets,
              ArrayRef<OpFoldResult> sizes)
      : op(op), b(b), loc(op.getLoc()), offsets(offsets), sizes(sizes) {
    int64_t axes[] = {0, op.getHeadAxis(), op.getSequenceAxis()};
    if (!op.hasPlace(Sequence::query))
      for (int dim = 0; dim < kNumDims; ++dim)
        whole[dim] = isWhole(offsets[dim], sizes[dim], op.getQ(), axes[dim]);
  }
  FailureOr<TilingResult> build();

private:
  LogicalResult findKeyHeads();
  void sliceOperands(ForwardOp tile, SmallVectorImpl<Operation *> &slices);
  void setTypes(ForwardOp tile);

  ForwardOp op;
  OpBuilder &b;
  Location loc;
  ArrayRef<OpFoldResult> offsets, sizes;
  bool whole[kNumDims] = {};
  OpFoldResult firstKeyHead, keyHeads;
  /// Query heads of a key head in the tile, if that is known.
  std::optional<int64_t> group;
};
} // namespace

/// The keys of the heads of a tile: whole groups, or part of one.
LogicalResult ForwardTile::findKeyHeads() {
  int64_t axis = op.getHeadAxis();
  std::optional<int64_t> all = op.getStaticGroup();
  if (whole[kHead]) {
    firstKeyHead = b.getIndexAttr(0);
    keyHeads = tensor::getMixedSize(b, loc, op.getK(), axis);
    group = op.getGroup();
    return success();
  }
  if (!all)
    return op.emitOpError("cannot be tiled by heads: neither types nor 'group' "
                          "say how many there are for each key head");
  OpFoldResult offset = offsets[kHead], size = sizes[kHead];
  if (isMultipleOf(offset, *all) && isMultipleOf(size, *all)) {
    firstKeyHead = divide(b, loc, offset, *all);
    keyHeads = divide(b, loc, size, *all);
    group = op.getGroup();
    return success();
  }
  std::optional<int64_t> count = getConstantIntValue(size);
  if (count && *count > 0 && *all % *count == 0 &&
      isMultipleOf(offset, *count)) {
    firstKeyHead = divide(b, loc, offset, *all);
    keyHeads = b.getIndexAttr(1);
    if (op.getGroup())
      group = count;
    return success();
  }
  return op.emitOpError("cannot be tiled by heads: expects tiles of whole "
                        "groups of ")
         << *all << " heads, or of parts that divide them";
}

void ForwardTile::sliceOperands(ForwardOp tile,
                                SmallVectorImpl<Operation *> &slices) {
  int64_t head = op.getHeadAxis(), row = op.getSequenceAxis();
  const TilePart batch = {0, offsets[kBatch], sizes[kBatch]};
  auto getParts = [&](Role role) -> SmallVector<TilePart> {
    const OperandInfo &info = getInfo(role);
    bool isRow = info.columns == Columns::None;
    switch (info.rows) {
    case Rows::Query:
      return {batch,
              {isRow ? 1 : head, offsets[kHead], sizes[kHead]},
              {isRow ? 2 : row, offsets[kQuery], sizes[kQuery]}};
    case Rows::Key:
      // A transposed v has elements where others have keys: heads stay.
      return {batch, {head, firstKeyHead, keyHeads}};
    case Rows::Head:
      return {{0, offsets[kHead], sizes[kHead]}};
    case Rows::None:
      return {};
    }
    llvm_unreachable("rows are one of these");
  };
  // The tile may have sequences of its own, which mods say.
  SmallVector<Role> roles = tile.getRoles();
  for (auto [operand, role] : llvm::zip(tile->getOpOperands(), roles)) {
    SmallVector<TilePart> parts = getParts(role);
    if (!parts.empty())
      operand.set(takeSlice(b, loc, operand.get(), parts, slices));
  }
}

void ForwardTile::setTypes(ForwardOp tile) {
  auto q = cast<RankedTensorType>(tile.getQ().getType()),
       o = cast<RankedTensorType>(op.getO().getType());
  SmallVector<int64_t> shape(q.getShape());
  shape.back() = o.getShape().back();
  tile.getO().setType(RankedTensorType::get(shape, o.getElementType()));
  for (Value ofRows : {Value(tile.getLse()), Value(tile.getMaxLogits())})
    if (ofRows)
      ofRows.setType(RankedTensorType::get(
          {shape[0], shape[op.getHeadAxis()], shape[op.getSequenceAxis()]},
          b.getF32Type()));
  if (Value plain = tile.getPlain())
    plain.setType(RankedTensorType::get(
        shape, cast<RankedTensorType>(plain.getType()).getElementType()));
}

FailureOr<TilingResult> ForwardTile::build() {
  if (std::optional<Obstacle> obstacle = findObstacle(op, whole[kQuery]))
    return op.emitOpError("cannot be tiled")
           << (obstacle->isOfQueries ? " by queries: " : ": ")
           << obstacle->reason;
  if (failed(findKeyHeads()))
    return failure();
  auto tile = cast<ForwardOp>(b.clone(*op));
  SmallVector<Operation *> slices;
  // In front of the tile, which has offsets in its regions.
  b.setInsertionPoint(tile);
  Part part;
  for (int dim = 0; dim < kNumDims; ++dim) {
    part.first[dim] = offsets[dim];
    part.hasAll[dim] = whole[dim];
  }
  part.heads = tensor::getMixedSize(b, loc, op.getQ(), op.getHeadAxis());
  part.queries = tensor::getMixedSize(b, loc, op.getQ(), op.getSequenceAxis());
  part.placeRegions(b, cast<ScoredOpInterface>(tile.getOperation()));
  sliceOperands(tile, slices);
  setTypes(tile);
  if (group)
    tile.setGroup(*group);
  else
    tile.removeGroupAttr();
  b.setInsertionPointAfter(tile);
  return TilingResult{{tile}, SmallVector<Value>(tile->getResults()), slices};
}

namespace {
struct ForwardTiling
    : TilingInterface::ExternalModel<ForwardTiling, ForwardOp> {
  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *) const {
    return SmallVector<utils::IteratorType>(kNumDims,
                                            utils::IteratorType::parallel);
  }

  SmallVector<Range> getIterationDomain(Operation *op, OpBuilder &b) const {
    auto forward = cast<ForwardOp>(op);
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    SmallVector<Range> domain;
    // With a place nothing is tiled: the one tile has all.
    if (forward.hasPlace(Sequence::query))
      return SmallVector<Range>(kNumDims, Range{zero, one, one});
    int64_t axes[] = {0, forward.getHeadAxis(), forward.getSequenceAxis()};
    for (int64_t axis : axes)
      domain.push_back(
          {zero, tensor::getMixedSize(b, op->getLoc(), forward.getQ(), axis),
           one});
    return domain;
  }

  FailureOr<TilingResult>
  getTiledImplementation(Operation *op, OpBuilder &b,
                         ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> sizes) const {
    return ForwardTile(cast<ForwardOp>(op), b, offsets, sizes).build();
  }

  LogicalResult getResultTilePosition(
      Operation *op, OpBuilder &b, unsigned number,
      ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
      SmallVector<OpFoldResult> &at, SmallVector<OpFoldResult> &extents) const {
    auto forward = cast<ForwardOp>(op);
    if (forward.hasPlace(Sequence::query))
      return failure();
    at.assign(offsets.begin(), offsets.end());
    extents.assign(sizes.begin(), sizes.end());
    if (forward.isOfRows(op->getResult(number)))
      return success();
    if (forward.getHeadAxis() == 2) {
      std::swap(at[1], at[2]);
      std::swap(extents[1], extents[2]);
    }
    at.push_back(b.getIndexAttr(0));
    extents.push_back(
        b.getIndexAttr(forward.getO().getType().getShape().back()));
    return success();
  }

  LogicalResult getIterationDomainTileFromResultTile(
      Operation *op, OpBuilder &b, unsigned number,
      ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
      SmallVectorImpl<OpFoldResult> &at,
      SmallVectorImpl<OpFoldResult> &extents) const {
    auto forward = cast<ForwardOp>(op);
    if (forward.hasPlace(Sequence::query))
      return failure();
    at.assign(offsets.begin(), offsets.end());
    extents.assign(sizes.begin(), sizes.end());
    if (forward.isOfRows(op->getResult(number)))
      return success();
    // Elements of a row are computed at once.
    if (!isWhole(offsets[3], sizes[3], forward.getO(), 3))
      return failure();
    at.pop_back(), extents.pop_back();
    if (forward.getHeadAxis() == 2) {
      std::swap(at[1], at[2]);
      std::swap(extents[1], extents[2]);
    }
    return success();
  }

  FailureOr<TilingResult>
  generateResultTileValue(Operation *op, OpBuilder &b, unsigned number,
                          ArrayRef<OpFoldResult> offsets,
                          ArrayRef<OpFoldResult> sizes) const {
    SmallVector<OpFoldResult> at, extents;
    if (failed(getIterationDomainTileFromResultTile(op, b, number, offsets,
                                                    sizes, at, extents)))
      return failure();
    FailureOr<TilingResult> tile = getTiledImplementation(op, b, at, extents);
    if (failed(tile))
      return failure();
    tile->tiledValues = {tile->tiledValues[number]};
    return tile;
  }
};
} // namespace

void fa3::attention::registerTiling(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, AttentionDialect *) {
    ForwardOp::attachInterface<ForwardTiling>(*context);
    attachMergeTiling(*context);
    // Of these a tile consists.
    context->loadDialect<affine::AffineDialect, arith::ArithDialect,
                         scf::SCFDialect, tensor::TensorDialect>();
  });
}
