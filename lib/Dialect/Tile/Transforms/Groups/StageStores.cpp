//===- StageStores.cpp - stores by bulk copies ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "StageStores.h"
#include "../Utils.h"
#include "Roles.h"
#include "fa3/Dialect/Tile/Analysis/AffineForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

namespace {
/// Columns [at, at + width) of a stored tile and where they go.
struct StorePiece {
  Value value;
  SmallVector<Value> indices;
};
} // namespace

static StorePiece getPiece(ImplicitLocOpBuilder &b, StoreOp store, int64_t at,
                           int64_t width) {
  RankedTensorType type = store.getValue().getType();
  StorePiece piece = {store.getValue(), SmallVector<Value>(store.getIndices())};
  int64_t rows = type.getDimSize(0);
  if (width < type.getDimSize(1))
    piece.value = tensor::ExtractSliceOp::create(
        b,
        RankedTensorType::get({rows, width}, type.getElementType(),
                              type.getEncoding()),
        piece.value, ValueRange(), ValueRange(), ValueRange(),
        ArrayRef<int64_t>{0, at}, ArrayRef<int64_t>{rows, width},
        ArrayRef<int64_t>{1, 1});
  if (at)
    piece.indices.back() = arith::AddIOp::create(
        b, piece.indices.back(), arith::ConstantIndexOp::create(b, at));
  return piece;
}

/// Of a ring that takes a tile in pieces: one is written under the copy of the
/// other.
static constexpr int64_t kPieceEntries = 2;

/// Sends a store through a ring that is private to the replica, so many columns
/// an entry.
static LogicalResult stageStore(StoreOp store, int64_t width) {
  auto group = store->getParentOfType<warp::GroupOp>();
  RankedTensorType type = store.getValue().getType();
  auto pieceType = RankedTensorType::get(
      {type.getDimSize(0), width}, type.getElementType(), type.getEncoding());
  ImplicitLocOpBuilder b(store.getLoc(), store);
  b.setInsertionPointToStart(group.getBodyBlock());
  int64_t entries = width < type.getDimSize(1) ? kPieceEntries : 1;
  Value ring = warp::RingOp::create(
      b, warp::RingType::get(b.getContext(), entries, {pieceType}, 1, 0,
                             warp::Scope::cta));
  SmallVector<Value> cursors = {
      warp::CursorOp::create(b, warp::Side::write, ring),
      warp::CursorOp::create(b, warp::Side::read, ring)};
  if (failed(threadTo(store, cursors)))
    return failure();

  b.setInsertionPoint(store);
  SmallVector<Value> zeros(type.getRank(),
                           arith::ConstantIndexOp::create(b, 0));
  auto window = [&](Value slot) -> Value {
    return ViewOp::create(b, ViewType::get(pieceType), slot, zeros);
  };
  for (int64_t at = 0; at < type.getDimSize(1); at += width) {
    StorePiece piece = getPiece(b, store, at, width);
    auto filled = warp::AcquireOp::create(b, ring, cursors[0]);
    WriteOp::create(b, piece.value, window(filled.getSlot()));
    warp::PublishOp::create(b, filled.getSlot());
    auto held = warp::AcquireOp::create(b, ring, cursors[1]);
    auto copy = StoreAsyncOp::create(
        b, warp::DoneType::get(b.getContext()), window(held.getSlot()),
        store.getTarget(), piece.indices, store.getAdd(), store.getFoldAttr());
    warp::ReleaseOp::create(b, held.getSlot(), ValueRange{copy.getDone()});
    cursors = {filled.getNext(), held.getNext()};
  }
  threadFrom(store, cursors);
  store.erase();
  return success();
}

/// Whether no other replica or group reads the window of this view: its rows
/// start at the replica's number times their count.
static bool isOwnWindow(ViewOp view, warp::GroupOp group) {
  auto acquire = view.getSlot().getDefiningOp<warp::AcquireOp>();
  if (!acquire || acquire.getSide() != warp::Side::read)
    return false;
  for (Operation *user : acquire.getRing().getUsers())
    if (auto cursor = dyn_cast<warp::CursorOp>(user);
        cursor && cursor.getSide() == warp::Side::read &&
        cursor->getParentOfType<warp::GroupOp>() != group)
      return false;
  if (group.getReplicas() == 1)
    return true;
  AffineForm row = getAffineForm(view.getOffsets().front());
  AffineForm own;
  own.add(group.getReplica(), view.getView().getType().getTile().getDimSize(0));
  row += own * -1;
  return row.isConstant() && row.constant == 0;
}

namespace {
/// A window that a store can go through, `columns` columns at a time.
struct ReusableView {
  ViewOp view;
  int64_t columns;
};
} // namespace

/// Columns of the stored tile that fit the rows of a window at once: all of
/// them, or whole blocks of its storage. 0 if none do.
static int64_t countColumnsAtOnce(RankedTensorType stored, ViewOp view) {
  RankedTensorType window = view.getView().getType().getTile();
  unsigned bits = stored.getElementTypeBitWidth();
  int64_t columns = stored.getDimSize(1);
  if (stored.getElementType() == window.getElementType())
    if (window.getDimSize(1) >= columns)
      return columns;
  if (bits % window.getElementTypeBitWidth() ||
      (bits != window.getElementTypeBitWidth() &&
       !isConstantIntValue(view.getOffsets().back(), 0)))
    return 0;
  auto entry = cast<RankedTensorType>(
      view.getSlot().getType().getPayload()[view.getField()]);
  int64_t block = getStorage(entry).getBlockColumns(stored.getElementType());
  int64_t room = window.getDimSize(1) * window.getElementTypeBitWidth() / bits;
  int64_t atOnce = std::min(room, columns) / block * block;
  // A bulk copy takes whole blocks: what is left over must be one, too.
  return columns % block == 0 ? atOnce : 0;
}

/// Whether another store goes through the slot, whose copy may still read it.
static bool isStoredFrom(Value slot) {
  return llvm::any_of(slot.getUsers(), [](Operation *user) {
    return isa<ViewOp>(user) &&
           llvm::any_of(user->getUsers(), llvm::IsaPred<StoreAsyncOp>);
  });
}

/// Whether no other replica or group reads the window of `view`: neither its
/// own rows, nor by another view of the slot.
static bool isReadAlone(ViewOp view, warp::GroupOp group) {
  return llvm::all_of(view.getSlot().getUsers(), [&](Operation *user) {
    auto other = dyn_cast<ViewOp>(user);
    return !other || isOwnWindow(other, group);
  });
}

/// A view, in the block of the store, of a slot that is released in this block
/// before the store, where the stored tile can be put.
static std::optional<ReusableView> findReusableView(StoreOp store) {
  auto group = store->getParentOfType<warp::GroupOp>();
  RankedTensorType type = store.getValue().getType();
  for (auto view : store->getBlock()->getOps<ViewOp>()) {
    RankedTensorType tile = view.getView().getType().getTile();
    if (!view->isBeforeInBlock(store) || tile.getRank() != 2 ||
        tile.getDimSize(0) != type.getDimSize(0) || !isReadAlone(view, group) ||
        isStoredFrom(view.getSlot()))
      continue;
    int64_t columns = countColumnsAtOnce(type, view);
    if (columns == 0)
      continue;
    for (Operation *user : view.getSlot().getUsers())
      if (isa<warp::ReleaseOp>(user) && user->getBlock() == store->getBlock())
        return ReusableView{view, columns};
  }
  return std::nullopt;
}

/// Stores through a window of a slot that the replica has done with, piece by
/// piece if it is smaller than the tile: the next piece is written when the
/// copy of the one before has read it.
static void storeInPlace(StoreOp store, ReusableView reusable) {
  ImplicitLocOpBuilder b(store.getLoc(), store);
  RankedTensorType type = store.getValue().getType();
  ViewOp view = reusable.view;
  int64_t columns = type.getDimSize(1);
  Value done;
  for (int64_t at = 0; at < columns; at += reusable.columns) {
    StorePiece piece =
        getPiece(b, store, at, std::min(reusable.columns, columns - at));
    auto pieceType = cast<RankedTensorType>(piece.value.getType());
    Value window = view.getView();
    if (window.getType() != ViewType::get(pieceType))
      window = ViewOp::create(b, ViewType::get(pieceType), view.getSlot(),
                              view.getOffsets());
    if (done)
      warp::WaitOp::create(b, done);
    WriteOp::create(b, piece.value, window);
    done = StoreAsyncOp::create(b, warp::DoneType::get(b.getContext()), window,
                                store.getTarget(), piece.indices,
                                store.getAdd(), store.getFoldAttr());
  }
  for (Operation *user : view.getSlot().getUsers())
    if (auto release = dyn_cast<warp::ReleaseOp>(user)) {
      if (release->isBeforeInBlock(store))
        release->moveBefore(store);
      release.getAfterMutable().append(done);
    }
  store.erase();
}

/// Whether the columns of a tile are whole blocks of what it goes through, or
/// end where the array does: what a block has more is stored, too.
static bool endsWithBlock(StoreOp store) {
  auto memref = cast<MemRefType>(store.getTarget().getType());
  RankedTensorType type = store.getValue().getType();
  int64_t columns = type.getShape().back();
  if (columns * type.getElementTypeBitWidth() %
          (getDefaultStorage(type).getSwizzle() * 8) ==
      0)
    return true;
  std::optional<int64_t> first = getConstantIntValue(store.getIndices().back());
  return first && *first + columns == memref.getShape().back();
}

/// A bulk store takes tiles of rank 2 into arrays of rank up to 5 whose last
/// dimension is contiguous, and writes whole units of 16 bytes. It writes all
/// rows that the array has. Wide elements are not worth it unless they are
/// added, which threads do one or two at a time.
static bool canStage(StoreOp store) {
  constexpr int64_t kUnitBits = 16 * 8;
  auto memref = cast<MemRefType>(store.getTarget().getType());
  RankedTensorType type = store.getValue().getType();
  int64_t bits = type.getElementTypeBitWidth();
  SmallVector<int64_t> strides;
  int64_t offset;
  return store->getParentOfType<warp::GroupOp>() && !store.getBelow() &&
         type.getRank() == 2 && memref.getRank() <= 5 && endsWithBlock(store) &&
         succeeded(memref.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1 &&
         (memref.isDynamicDim(memref.getRank() - 1) ||
          memref.getShape().back() * bits % kUnitBits == 0) &&
         type.getDimSize(0) % 8 == 0 &&
         (bits == 16 || bits == 8 || (bits == 32 && store.getAdd()));
}

/// Whether threads write entries of rings that other groups read.
static bool hasConversions(gpu::GPUFuncOp kernel) {
  return kernel
      .walk([](WriteOp write) {
        auto view = write.getView().getDefiningOp<ViewOp>();
        auto acquire =
            view ? view.getSlot().getDefiningOp<warp::AcquireOp>() : nullptr;
        auto ring =
            acquire ? acquire.getRing().getDefiningOp<warp::RingOp>() : nullptr;
        bool isConversion =
            ring && !ring->getParentOfType<warp::GroupOp>() &&
            llvm::any_of(ring->getUsers(), [&](Operation *user) {
              auto cursor = dyn_cast<warp::CursorOp>(user);
              return cursor && cursor->getParentOfType<warp::GroupOp>() !=
                                   write->getParentOfType<warp::GroupOp>();
            });
        return WalkResult(failure(isConversion));
      })
      .wasInterrupted();
}

/// Bytes of all rings with as many entries as are good to have: two of what
/// loops use, or the innermost ones only, three of what products read beside
/// conversions, of tiles for element code one, which is free again early.
static int64_t bytesOfRings(gpu::GPUFuncOp kernel, bool innermostOnly) {
  // Of buffers in shared memory.
  constexpr int64_t kAlignment = 1024;
  unsigned innermost = 1;
  kernel.walk([&](warp::RingOp ring) {
    innermost = std::max(innermost, getLoopDepth(ring));
  });
  bool converts = hasConversions(kernel);
  int64_t bytes = 0;
  kernel.walk([&](warp::RingOp ring) {
    unsigned depth = getLoopDepth(ring);
    int64_t entries = 1;
    if (ring->getUsers().empty())
      entries = 0;
    else if (depth >= (innermostOnly ? innermost : 1) &&
             !feedsElementCode(ring))
      entries = converts && depth == innermost && feedsProducts(ring) ? 3 : 2;
    int64_t own = 0;
    for (Type type : ring.getRing().getType().getPayload())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        own += getStorageBytes(tensor) * entries;
    bytes += llvm::alignTo(own, kAlignment);
  });
  return bytes;
}

/// One block of columns, or all of a tile that has no more than a ring for
/// pieces would hold.
static int64_t getPieceWidth(RankedTensorType type) {
  int64_t width = type.getDimSize(1);
  int64_t block = getStorage(type).getBlockColumns(type.getElementType());
  return width % block == 0 && width > kPieceEntries * block ? block : width;
}

/// Of a ring that takes so many columns of a tile at a time.
static int64_t getStagingBytes(RankedTensorType type, int64_t width) {
  int64_t bytes = getStorageBytes(type), columns = type.getDimSize(1);
  return width == columns ? bytes : bytes / columns * width * kPieceEntries;
}

/// How many columns of a stored tile a ring of its own can take at a time
/// beside other rings.
static std::optional<int64_t> chooseWidth(RankedTensorType type,
                                          int64_t replicas, int64_t others,
                                          int64_t budget) {
  for (int64_t width : {type.getDimSize(1), getPieceWidth(type)})
    if (others + getStagingBytes(type, width) * replicas <= budget)
      return width;
  return std::nullopt;
}

/// Stores right from the slot that another group has filled.
static LogicalResult storeFromSlot(StoreOp store) {
  auto read = store.getValue().getDefiningOp<ReadOp>();
  auto view = read ? read.getView().getDefiningOp<ViewOp>() : nullptr;
  if (!view || !canStage(store))
    return store.emitOpError("is done by the store group: expects a tile of a "
                             "slot that a bulk copy can store");
  ImplicitLocOpBuilder b(store.getLoc(), store);
  Value done = StoreAsyncOp::create(b, warp::DoneType::get(b.getContext()),
                                    view, store.getTarget(), store.getIndices(),
                                    store.getAdd(), store.getFoldAttr());
  for (Operation *user : llvm::make_early_inc_range(view.getSlot().getUsers()))
    if (auto release = dyn_cast<warp::ReleaseOp>(user)) {
      release->moveAfter(done.getDefiningOp());
      release.getAfterMutable().append(done);
    }
  store.erase();
  if (read.use_empty())
    read.erase();
  return success();
}

FailureOr<int64_t> fa3::tile::stageStores(gpu::GPUFuncOp kernel,
                                          options::Store policy,
                                          int64_t smemBudget) {
  SmallVector<StoreOp> candidates, ofGroup;
  kernel.walk([&](StoreOp store) {
    auto group = store->getParentOfType<warp::GroupOp>();
    if (group && group.getSymName() == kStoreGroup)
      ofGroup.push_back(store);
    else if (policy != options::Store::Direct && canStage(store))
      candidates.push_back(store);
  });
  for (StoreOp store : ofGroup)
    if (failed(storeFromSlot(store)))
      return failure();
  int64_t others = getConstantBytes(kernel), count = ofGroup.size();
  int64_t ofAllLoops = bytesOfRings(kernel, /*innermostOnly=*/false);
  int64_t ofInnermost = bytesOfRings(kernel, /*innermostOnly=*/true);
  for (StoreOp store : candidates) {
    int64_t replicas = store->getParentOfType<warp::GroupOp>().getReplicas();
    RankedTensorType type = store.getValue().getType();
    std::optional<int64_t> width =
        chooseWidth(type, replicas, ofInnermost + others, smemBudget);
    int64_t whole = getStagingBytes(type, type.getDimSize(1)) * replicas;
    // Two entries of outer loops' rings are worth more than a ring for stores.
    bool wantsPlace = ofAllLoops > ofInnermost &&
                      ofAllLoops + others <= smemBudget &&
                      ofAllLoops + others + whole > smemBudget;
    if (policy == options::Store::InPlace ||
        (policy == options::Store::Auto && (wantsPlace || !width))) {
      if (std::optional<ReusableView> view = findReusableView(store)) {
        storeInPlace(store, *view);
        ++count;
        continue;
      }
      if (policy == options::Store::InPlace)
        return store.emitOpError("cannot be done in place: no slot that its "
                                 "group alone reads has a window for a tile "
                                 "of type ")
               << type;
      if (!width)
        continue;
    }
    if (!width)
      width = getPieceWidth(type);
    others += getStagingBytes(type, *width) * replicas;
    if (failed(stageStore(store, *width)))
      return failure();
    ++count;
  }
  return count;
}
