//===- MakeAsync.cpp - tile-make-async ------------------------------------===//

#include "Utils.h"
#include "fa3/Dialect/Tile/Analysis/AffineForm.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace fa3::tile {
#define GEN_PASS_DEF_MAKEASYNC
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The position of a loop-carried value that exists only to accumulate this
/// product from iteration to iteration.
static std::optional<unsigned> matchAccumulator(DotOp dot) {
  auto argument = dyn_cast<BlockArgument>(dot.getAcc());
  if (!argument || argument.getOwner() != dot->getBlock() ||
      !argument.hasOneUse() || !dot.getResult().hasOneUse())
    return std::nullopt;
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  if (!loop || argument.getArgNumber() == 0)
    return std::nullopt;
  unsigned index = argument.getArgNumber() - 1;
  OpOperand &use = *dot.getResult().getUses().begin();
  if (use.getOwner() != loop.getBody()->getTerminator() ||
      use.getOperandNumber() != index)
    return std::nullopt;
  return index;
}

/// Makes the value that a loop carries at `index` a pending one.
static void makeCarriedPending(scf::ForOp loop, unsigned index) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  Value init = loop.getInitArgs()[index];
  auto type = PendingType::get(cast<RankedTensorType>(init.getType()));
  loop.getInitArgsMutable()[index].assign(PendOp::create(b, type, init));
  loop.getRegionIterArg(index).setType(type);
  OpResult result = loop->getResult(index);
  result.setType(type);
  b.setInsertionPointAfter(loop);
  auto awaited = AwaitOp::create(b, result, ValueRange());
  result.replaceAllUsesExcept(awaited.getResult(), awaited);
}

/// Whether only loops and branches lie around a token up to `target`.
static bool canCarryTokenOut(Value token, Block *target) {
  for (Block *block = token.getParentBlock(); block != target;
       block = block->getParentOp()->getBlock())
    if (!isa<scf::ForOp, scf::IfOp>(block->getParentOp()))
      return false;
  return true;
}

/// Carries a token out of loops and branches until `target`.
static Value carryTokenOut(Value token, Block *target) {
  while (token.getParentBlock() != target) {
    Operation *parent = token.getParentBlock()->getParentOp();
    ImplicitLocOpBuilder b(parent->getLoc(), parent);
    SmallVector<Value> start = {flow::ReadyOp::create(b)};
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      loop = appendIterArgs(loop, start);
      Operation *yield = loop.getBody()->getTerminator();
      yield->setOperand(yield->getNumOperands() - 1, token);
      token = loop.getResults().back();
    } else {
      auto branch = appendResults(cast<scf::IfOp>(parent), start);
      Operation *yield = token.getParentBlock()->getTerminator();
      yield->setOperand(yield->getNumOperands() - 1, token);
      token = branch.getResults().back();
    }
  }
  return token;
}

/// Lets the release of the slot behind a view wait for the token.
static LogicalResult coverSlot(ViewOp viewOp, Value token) {
  for (Operation *user : viewOp.getSlot().getUsers()) {
    auto release = dyn_cast<flow::ReleaseOp>(user);
    if (!release || !canCarryTokenOut(token, release->getBlock()))
      continue;
    Value visible = carryTokenOut(token, release->getBlock());
    release.getAfterMutable().append(visible);
    return success();
  }
  return viewOp.emitOpError("is read by a product, but its slot is released "
                            "where the product's completion cannot be carried");
}

/// Lets the releases of the slots behind the views of a product wait for its
/// token. Both operands may be windows of one slot.
static LogicalResult coverViews(DotAsyncOp product) {
  Value token = product.getDone();
  llvm::SmallPtrSet<Value, 2> covered;
  for (Value view : product.getReadViews()) {
    auto viewOp = view.getDefiningOp<ViewOp>();
    if (!viewOp)
      return product.emitOpError("expects a view that 'tile.view' makes in its "
                                 "group");
    if (covered.insert(viewOp.getSlot()).second &&
        failed(coverSlot(viewOp, token)))
      return failure();
  }
  return success();
}

static LogicalResult makeProductAsync(DotOp dot) {
  SplatElementsAttr constant;
  if (!isa<ViewType>(dot.getRhs().getType()) &&
      !matchPattern(dot.getRhs(), m_Constant(&constant)))
    return dot.emitOpError("expects the right operand of a product in shared "
                           "memory (a view), or one value throughout; load it "
                           "by the load role");
  std::optional<unsigned> accumulator = matchAccumulator(dot);
  if (accumulator)
    makeCarriedPending(cast<scf::ForOp>(dot->getParentOp()), *accumulator);
  ImplicitLocOpBuilder b(dot.getLoc(), dot);
  auto pending = PendingType::get(dot.getResult().getType());
  auto async = DotAsyncOp::create(
      b, pending, flow::DoneType::get(b.getContext()), dot.getLhs(),
      dot.getRhs(), dot.getAcc(), dot.getLhsOrder(), dot.getRhsOrder());
  if (accumulator) {
    // The use is the loop's yield; the types on both sides are pending.
    Operation *yield = dot->getBlock()->getTerminator();
    yield->setOperand(*accumulator, async.getResult());
  } else {
    Operation *firstUse = dot->getBlock()->getTerminator();
    for (Operation *user : dot.getResult().getUsers()) {
      Operation *use = dot->getBlock()->findAncestorOpInBlock(*user);
      if (use->isBeforeInBlock(firstUse))
        firstUse = use;
    }
    b.setInsertionPoint(firstUse);
    auto awaited = AwaitOp::create(b, async.getResult(), ValueRange());
    dot.getResult().replaceAllUsesWith(awaited.getResult());
  }
  dot.erase();
  return coverViews(async);
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// Columns [at, at + width) of a stored tile and where they go.
struct StorePiece {
  Value value;
  SmallVector<Value> indices;
};

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
  auto group = store->getParentOfType<flow::GroupOp>();
  RankedTensorType type = store.getValue().getType();
  auto pieceType = RankedTensorType::get(
      {type.getDimSize(0), width}, type.getElementType(), type.getEncoding());
  ImplicitLocOpBuilder b(store.getLoc(), store);
  b.setInsertionPointToStart(group.getBodyBlock());
  int64_t entries = width < type.getDimSize(1) ? kPieceEntries : 1;
  Value ring = flow::RingOp::create(
      b, flow::RingType::get(b.getContext(), entries, {pieceType}, 1, 0,
                             flow::Scope::cta));
  SmallVector<Value> cursors = {
      flow::CursorOp::create(b, flow::Side::write, ring),
      flow::CursorOp::create(b, flow::Side::read, ring)};
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
    auto filled = flow::AcquireOp::create(b, ring, cursors[0]);
    WriteOp::create(b, piece.value, window(filled.getSlot()));
    flow::PublishOp::create(b, filled.getSlot());
    auto held = flow::AcquireOp::create(b, ring, cursors[1]);
    auto copy = StoreAsyncOp::create(b, flow::DoneType::get(b.getContext()),
                                     window(held.getSlot()), store.getTarget(),
                                     piece.indices, /*add=*/false);
    flow::ReleaseOp::create(b, held.getSlot(), ValueRange{copy.getDone()});
    cursors = {filled.getNext(), held.getNext()};
  }
  threadFrom(store, cursors);
  store.erase();
  return success();
}

/// Whether no other replica or group reads the window of this view: its rows
/// start at the replica's number times their count.
static bool isOwnWindow(ViewOp view, flow::GroupOp group) {
  auto acquire = view.getSlot().getDefiningOp<flow::AcquireOp>();
  if (!acquire || acquire.getSide() != flow::Side::read)
    return false;
  for (Operation *user : acquire.getRing().getUsers())
    if (auto cursor = dyn_cast<flow::CursorOp>(user);
        cursor && cursor.getSide() == flow::Side::read &&
        cursor->getParentOfType<flow::GroupOp>() != group)
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

/// A view, in the block of the store, of a slot that is released in this block
/// before the store, where the stored tile can be put.
static std::optional<ReusableView> findReusableView(StoreOp store) {
  auto group = store->getParentOfType<flow::GroupOp>();
  RankedTensorType type = store.getValue().getType();
  for (auto view : store->getBlock()->getOps<ViewOp>()) {
    RankedTensorType tile = view.getView().getType().getTile();
    if (!view->isBeforeInBlock(store) || tile.getRank() != 2 ||
        tile.getDimSize(0) != type.getDimSize(0) || !isOwnWindow(view, group))
      continue;
    int64_t columns = countColumnsAtOnce(type, view);
    if (columns == 0)
      continue;
    for (Operation *user : view.getSlot().getUsers())
      if (isa<flow::ReleaseOp>(user) && user->getBlock() == store->getBlock())
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
      flow::WaitOp::create(b, done);
    WriteOp::create(b, piece.value, window);
    done = StoreAsyncOp::create(b, flow::DoneType::get(b.getContext()), window,
                                store.getTarget(), piece.indices,
                                /*add=*/false);
  }
  for (Operation *user : view.getSlot().getUsers())
    if (auto release = dyn_cast<flow::ReleaseOp>(user)) {
      if (release->isBeforeInBlock(store))
        release->moveBefore(store);
      release.getAfterMutable().append(done);
    }
  store.erase();
}

/// A bulk store takes tiles of rank 2 into arrays of rank up to 5 whose last
/// dimension is contiguous, and writes whole units of 16 bytes.
static bool canStage(StoreOp store) {
  auto memref = cast<MemRefType>(store.getTarget().getType());
  RankedTensorType type = store.getValue().getType();
  SmallVector<int64_t> strides;
  int64_t offset;
  return store->getParentOfType<flow::GroupOp>() && type.getRank() == 2 &&
         memref.getRank() <= 5 &&
         succeeded(memref.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1 &&
         (memref.isDynamicDim(memref.getRank() - 1) ||
          memref.getShape().back() % 8 == 0) &&
         type.getDimSize(0) % 8 == 0 && type.getElementTypeBitWidth() == 16;
}

/// Whether threads write entries of rings that other groups read.
static bool hasConversions(gpu::GPUFuncOp kernel) {
  return kernel
      .walk([](WriteOp write) {
        auto view = write.getView().getDefiningOp<ViewOp>();
        auto acquire =
            view ? view.getSlot().getDefiningOp<flow::AcquireOp>() : nullptr;
        auto ring =
            acquire ? acquire.getRing().getDefiningOp<flow::RingOp>() : nullptr;
        return WalkResult(
            failure(ring && !ring->getParentOfType<flow::GroupOp>()));
      })
      .wasInterrupted();
}

/// Bytes of all rings with as many entries as are good to have: two of what the
/// innermost loops use, three of what products read beside conversions, of
/// tiles for element code one, which is free again early.
static int64_t bytesOfRings(gpu::GPUFuncOp kernel) {
  unsigned innermost = 1;
  kernel.walk([&](flow::RingOp ring) {
    innermost = std::max(innermost, getLoopDepth(ring));
  });
  bool converts = hasConversions(kernel);
  int64_t bytes = 0;
  kernel.walk([&](flow::RingOp ring) {
    int64_t entries = 1;
    if (ring->getUsers().empty())
      entries = 0;
    else if (getLoopDepth(ring) == innermost && !feedsElementCode(ring))
      entries = converts && feedsProducts(ring) ? 3 : 2;
    for (Type type : ring.getRing().getType().getPayload())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        bytes += getStorageBytes(tensor) * entries;
  });
  return bytes;
}

namespace {
struct MakeAsync : fa3::tile::impl::MakeAsyncBase<MakeAsync> {
  using MakeAsyncBase::MakeAsyncBase;

  void runOnOperation() override {
    if (!llvm::is_contained({"auto", "staged", "in-place", "direct"}, store)) {
      getOperation()->emitError("tile-make-async: expects store 'auto', "
                                "'staged', 'in-place' or 'direct', got '")
          << store << "'";
      return signalPassFailure();
    }
    if (smemBudget < 0) {
      getOperation()->emitError("tile-make-async: expects smem-budget of at "
                                "least 0, got ")
          << smemBudget.getValue();
      return signalPassFailure();
    }
    if (failed(forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
          return transform(kernel);
        })))
      signalPassFailure();
  }

  LogicalResult transform(gpu::GPUFuncOp kernel) {
    SmallVector<DotOp> dots;
    SmallVector<StoreOp> candidates;
    kernel.walk([&](Operation *op) {
      if (auto dot = dyn_cast<DotOp>(op);
          dot && dot->getParentOfType<flow::GroupOp>())
        dots.push_back(dot);
      if (auto candidate = dyn_cast<StoreOp>(op);
          candidate && canStage(candidate))
        candidates.push_back(candidate);
    });
    for (DotOp dot : dots)
      if (failed(makeProductAsync(dot)))
        return failure();
    products += dots.size();
    if (store == "direct")
      return success();

    int64_t bytes = bytesOfRings(kernel) + getConstantBytes(kernel);
    for (StoreOp candidate : candidates) {
      int64_t replicas =
          candidate->getParentOfType<flow::GroupOp>().getReplicas();
      RankedTensorType type = candidate.getValue().getType();
      int64_t staging = getStorageBytes(type) * replicas;
      int64_t width = type.getDimSize(1);
      if (bytes + staging > smemBudget) {
        // Two blocks of columns, one of which is written under the copy of the
        // other.
        constexpr int64_t kEntries = 2;
        int64_t block = getStorage(type).getBlockColumns(type.getElementType());
        if (width % block == 0 && width > kEntries * block) {
          staging = staging / width * block * kEntries;
          width = block;
        }
      }
      bool fits = bytes + staging <= smemBudget;
      if (store == "in-place" || (store == "auto" && !fits)) {
        if (std::optional<ReusableView> view = findReusableView(candidate)) {
          storeInPlace(candidate, *view);
          ++stores;
        } else if (store == "in-place") {
          return candidate.emitOpError("cannot be done in place: no slot that "
                                       "its group alone reads has a window for "
                                       "a tile of type ")
                 << candidate.getValue().getType();
        }
        continue;
      }
      bytes += staging;
      if (failed(stageStore(candidate, width)))
        return failure();
      ++stores;
    }
    return success();
  }
};
} // namespace
