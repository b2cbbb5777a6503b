//===- AccessOps.cpp - loads and stores of tile ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// tile.load, tile.store, tile.gather and their asynchronous forms.
//
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Dialect/Warp/IR/CopyPlaces.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// A tile of a global array, wherever it is.
static LogicalResult verifyTile(Operation *op, MemRefType memref,
                                RankedTensorType tile,
                                std::optional<int64_t> fold) {
  if (tile.getRank() > memref.getRank())
    return op->emitOpError("expects the rank of the tile (")
           << tile.getRank() << ") to be at most that of the memref ("
           << memref.getRank() << ")";
  if (tile.getElementType() != memref.getElementType())
    return op->emitOpError("expects the element type of the tile (")
           << tile.getElementType() << ") to be that of the memref ("
           << memref.getElementType() << ")";
  if (!fold)
    return success();
  if (tile.getRank() == memref.getRank())
    return op->emitOpError("expects a memref of a rank above that of the tile "
                           "(")
           << tile.getRank() << ") with fold, got " << memref.getRank();
  if (*fold <= 0 || !llvm::isPowerOf2_64(*fold) || tile.getDimSize(0) % *fold)
    return op->emitOpError("expects fold to be a power of two that divides the "
                           "first extent of the tile (")
           << tile.getDimSize(0) << "), got " << *fold;
  return success();
}

/// The constraints that every access to a global array shares.
static LogicalResult verifyAccess(Operation *op, MemRefType memref,
                                  ValueRange indices, RankedTensorType tile,
                                  std::optional<int64_t> fold = std::nullopt) {
  if (static_cast<int64_t>(indices.size()) != memref.getRank())
    return op->emitOpError("expects one index per dimension of the memref (")
           << memref.getRank() << "), got " << indices.size();
  if (!tile)
    return success();
  return verifyTile(op, memref, tile, fold);
}

/// Elements that memory adds.
static LogicalResult verifyAdd(Operation *op, bool add, RankedTensorType tile) {
  if (!add || tile.getElementType().isF32() ||
      tile.getElementType().isInteger(32))
    return success();
  return op->emitOpError("expects elements of f32 or i32 with 'add', got ")
         << tile.getElementType();
}

/// Verifies a copy of a tile, whose indices may be those of pieces.
template <typename CopyOp>
static LogicalResult verifyCopy(CopyOp op, RankedTensorType tile) {
  auto memref = cast<MemRefType>(op.getSource().getType());
  std::optional<int64_t> pieces = op.getPieces();
  if (op.getLimit() && (tile.getRank() != 2 || op.getFold()))
    return op.emitOpError("expects a tile of rank 2 ")
           << (op.getFold() ? "without fold beside 'limit', got fold "
                            : "beside 'limit', got rank ")
           << (op.getFold() ? *op.getFold() : tile.getRank());
  if (!pieces)
    return verifyAccess(op, memref, op.getIndices(), tile, op.getFold());
  if (op.getFold())
    return op.emitOpError("expects fold or pieces, got both");
  if (*pieces > 0 && (tile.getRank() != 2 || tile.getDimSize(0) % *pieces))
    return op.emitOpError("expects pieces that divide the rows of a tile of "
                          "rank 2, got ")
           << *pieces << " of " << tile;
  return verifyTile(op, memref, tile, std::nullopt);
}

template <typename CopyOp>
static LogicalResult verifyCopyPlaces(CopyOp op) {
  return warp::verifyPlaces(
      op, op.getPlaces(), op.getPieces(), op.getIndices().size(),
      cast<MemRefType>(op.getSource().getType()).getRank(),
      IndexType::get(op.getContext()));
}

LogicalResult LoadOp::verify() { return verifyCopy(*this, getType()); }

LogicalResult LoadOp::verifyRegions() { return verifyCopyPlaces(*this); }

SmallVector<Value> LoadOp::getPlaceOperands() {
  llvm::SetVector<Value> values(getIndices().begin(), getIndices().end());
  for (Region &region : getPlaces())
    region.walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (!region.isAncestor(operand.getParentRegion()))
          values.insert(operand);
    });
  return values.takeVector();
}

LogicalResult GatherOp::verify() {
  if (llvm::none_of(getIndices().getTypes(), llvm::IsaPred<RankedTensorType>))
    return emitOpError("expects an index that is a tile");
  for (Type type : getIndices().getTypes())
    if (!getElementTypeOrSelf(type).isIndex())
      return emitOpError("expects tiles of index, got ") << type;
  auto memref = cast<MemRefType>(getSource().getType());
  if (failed(verifyAccess(*this, memref, getIndices(), {})))
    return failure();
  if (getResult().getType().getElementType() != memref.getElementType())
    return emitOpError("expects the element type of the tile (")
           << getResult().getType().getElementType()
           << ") to be that of the memref (" << memref.getElementType() << ")";
  return success();
}

LogicalResult ScalarLoadOp::verify() {
  return verifyAccess(*this, cast<MemRefType>(getSource().getType()),
                      getIndices(), {});
}

LogicalResult StoreOp::verify() {
  if (failed(verifyAdd(*this, getAdd(), getValue().getType())))
    return failure();
  return verifyAccess(*this, cast<MemRefType>(getTarget().getType()),
                      getIndices(), getValue().getType(), getFold());
}

LogicalResult LoadAsyncOp::verifyRegions() { return verifyCopyPlaces(*this); }

LogicalResult LoadAsyncOp::verify() {
  if (failed(verifyCopy(*this, getView().getType().getTile())))
    return failure();
  if (getRows() && (getFold() || getPieces() || getLimit()))
    return emitOpError("expects rows or ") << (getFold()     ? "fold"
                                               : getPieces() ? "pieces"
                                                             : "limit")
                                           << ", got both";
  if (auto view = getView().getDefiningOp<ViewOp>())
    if (view.getSlot().getType().getSide() != warp::Side::write)
      return emitOpError("expects a view of a write slot, got one of ")
             << view.getSlot().getType();
  if (!getRows())
    return success();
  RankedTensorType tile = getView().getType().getTile();
  if (!isPermutationVector(*getRows()))
    return emitOpError("expects a permutation of 0 to its size - 1 for rows, "
                       "got [")
           << *getRows() << "]";
  if (tile.getRank() != 2 ||
      tile.getDimSize(0) % (int64_t(1) << getRows()->size()))
    return emitOpError("expects a tile of rank 2 whose rows are a multiple of ")
           << (int64_t(1) << getRows()->size()) << ", got " << tile;
  return success();
}

LogicalResult StoreAsyncOp::verify() {
  if (failed(verifyAdd(*this, getAdd(), getView().getType().getTile())))
    return failure();
  return verifyAccess(*this, cast<MemRefType>(getTarget().getType()),
                      getIndices(), getView().getType().getTile(), getFold());
}

SmallVector<Value> LoadAsyncOp::getReadViews() { return {}; }
SmallVector<Value> LoadAsyncOp::getWrittenViews() { return {getView()}; }
warp::Completion LoadAsyncOp::getCompletion() {
  return warp::Completion::Transactions;
}

SmallVector<Value> StoreAsyncOp::getReadViews() { return {getView()}; }
SmallVector<Value> StoreAsyncOp::getWrittenViews() { return {}; }
warp::Completion StoreAsyncOp::getCompletion() {
  return warp::Completion::BulkGroup;
}
Value StoreAsyncOp::getDoneToken() { return getDone(); }
