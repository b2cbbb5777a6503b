//===- SlotLowering.cpp - copies, reads and writes of slots ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "KernelLowering.h"
#include "RowOrder.h"
#include "fa3/Dialect/Tile/Analysis/AffineForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa3;

LogicalResult KernelLowering::lowerView(tile::ViewOp op) {
  bool hasRows = op.getOffsets().size() == 2;
  const Ring *ring = slotRing[op.getSlot()];
  views[op.getView()] = {ring,
                         &ring->fields[op.getField()],
                         get(op.getSlot()),
                         hasRows ? get(op.getOffsets().front()) : i32(0),
                         get(op.getOffsets().back()),
                         op.getView().getType().getTile()};
  return success();
}

static LogicalResult verifyBoxRows(Operation *op, int64_t rows) {
  constexpr int64_t kMaxBox = 256;
  if (rows <= kMaxBox)
    return success();
  return op->emitOpError("copies ")
         << rows << " rows at once, the limit of a bulk copy is " << kMaxBox;
}

/// One copy per block of columns.
LogicalResult
KernelLowering::forEachBox(Operation *op, const View &view, Value memref,
                           ValueRange indices, std::optional<int64_t> fold,
                           function_ref<void(Value, ValueRange, Value)> emit) {
  if (!arguments.isArgument(memref))
    return op->emitOpError("has no lowering to hopper: expects an array that "
                           "is a kernel argument");
  hopper::BufferType buffer =
      view.memory->type.withElementType(view.tile.getElementType());
  bool hasRows = view.tile.getRank() == 2;
  int64_t rows = hasRows ? view.tile.getDimSize(0) : 1;
  int64_t columns = view.tile.getShape().back(),
          width = buffer.getBlockColumns();
  if (failed(verifyBoxRows(op, rows)))
    return failure();
  SmallVector<int64_t> box(indices.size(), 1);
  if (hasRows)
    box[box.size() - 2] = fold.value_or(rows);
  if (fold)
    box[box.size() - 3] = rows / *fold;
  box.back() = width;
  Value map = arguments.getTensorMap(
      memref, hopper::TensorMapType::get(b.getContext(), box,
                                         view.tile.getElementType(),
                                         buffer.getSwizzle()));
  Values at = get(indices);
  Value firstColumn = at.back();
  for (int64_t column = 0; column < columns; column += width) {
    Value offset = i32(column);
    Value inBuffer = view.column;
    if (column) {
      at.back() = arith::AddIOp::create(b, firstColumn, offset);
      inBuffer = arith::AddIOp::create(b, view.column, offset);
    }
    emit(map, at, inBuffer);
  }
  return success();
}

LogicalResult KernelLowering::lowerReordered(tile::LoadAsyncOp op) {
  constexpr int64_t kMostDims = 5;
  const View &view = views[op.getView()];
  ArrayRef<int64_t> bits = *op.getRows();
  int64_t rank = op.getIndices().size();
  auto refuse = [&]() { return op.emitOpError("has no lowering to hopper: "); };
  if (!arguments.isArgument(op.getSource()))
    return refuse() << "expects an array that is a kernel argument";
  int64_t period = int64_t(1) << bits.size();
  if (!tile::provesMultipleOf(tile::getAffineForm(op.getIndices()[rank - 2]),
                              period))
    return refuse() << "expects a first row that is a multiple of " << period;
  std::optional<RowOrder> order =
      planRowOrder(bits, view.tile.getDimSize(0), kMostDims - (rank - 1));
  if (!order)
    return refuse() << "no copies of 8 rows or more bring those of an array of "
                       "rank "
                    << rank << " in the order [" << bits << "]";

  int64_t blockRows = order->getBlockRows();
  auto array = cast<MemRefType>(op.getSource().getType());
  int64_t rows = array.getDimSize(rank - 2);
  if (!ShapedType::isDynamic(rows) && rows % blockRows)
    return refuse() << "expects the rows of the array to be a multiple of "
                    << blockRows << ", got " << rows;
  if (!array.isStrided())
    return refuse() << "expects an array with strides, got " << array;

  hopper::BufferType buffer = view.memory->type;
  SmallVector<int64_t> box(rank - 2, 1);
  llvm::append_range(box, order->box);
  box.push_back(buffer.getBlockColumns());
  Value map = arguments.getTensorMap(
      op.getSource(),
      hopper::TensorMapType::get(
          b.getContext(), box, view.tile.getElementType(), buffer.getSwizzle()),
      order->split);
  Values indices = get(op.getIndices());
  Value firstBlock = indices[rank - 2];
  if (blockRows > 1)
    firstBlock = arith::DivUIOp::create(b, firstBlock, i32(blockRows));
  auto plus = [&](Value value, int64_t offset) -> Value {
    return offset ? arith::AddIOp::create(b, value, i32(offset)).getResult()
                  : value;
  };
  for (int64_t column = 0; column < view.tile.getDimSize(1);
       column += buffer.getBlockColumns())
    for (auto [number, row] : llvm::enumerate(order->firstRows)) {
      Values at(indices.begin(), indices.end() - 2);
      at.push_back(plus(firstBlock, row / blockRows));
      for (int64_t inner : order->getInner(row))
        at.push_back(i32(inner));
      at.push_back(plus(indices.back(), column));
      Value atColumn = plus(view.column, column);
      hopper::TmaLoadOp::create(b, map, at, view.memory->buffer, view.index,
                                plus(view.row, number * order->getBoxRows()),
                                atColumn, view.ring->full, view.index);
    }
  return success();
}

/// All pieces in one operation, which knows how to find each of them.
LogicalResult KernelLowering::lowerPieces(tile::LoadAsyncOp op) {
  // The order of 16-byte units in shared memory follows from the address, so
  // that a copy may start with any row at a multiple of as many bytes.
  constexpr int64_t kUnit = 128;
  const View &view = views[op.getView()];
  auto refuse = [&]() { return op.emitOpError("has no lowering to hopper: "); };
  if (!arguments.isArgument(op.getSource()))
    return refuse() << "expects an array that is a kernel argument";
  hopper::BufferType buffer = view.memory->type;
  int64_t pieces = *op.getPieces();
  int64_t rows = view.tile.getDimSize(0) / pieces, width = buffer.getSwizzle();
  if (rows * width % kUnit)
    return refuse() << "expects pieces of a multiple of " << kUnit / width
                    << " rows, got " << rows;
  if (failed(verifyBoxRows(op, rows)))
    return failure();
  SmallVector<int64_t> box(cast<MemRefType>(op.getSource().getType()).getRank(),
                           1);
  box[box.size() - 2] = rows;
  box.back() = buffer.getBlockColumns();
  Value map = arguments.getTensorMap(
      op.getSource(),
      hopper::TensorMapType::get(b.getContext(), box,
                                 view.tile.getElementType(), width));
  int64_t blocks =
      llvm::divideCeil(view.tile.getDimSize(1), buffer.getBlockColumns());
  auto copy = hopper::TmaLoadOp::create(
      b, map, ValueRange(), view.memory->buffer, view.index, view.row,
      view.column, view.ring->full, view.index, b.getI64IntegerAttr(pieces),
      b.getI64IntegerAttr(blocks), /*placesCount=*/1);
  Block &from = op.getPlaces().front().front();
  OpBuilder::InsertionGuard guard(b);
  Block *to =
      b.createBlock(&copy.getPlaces().front(), {}, b.getI32Type(), op.getLoc());
  set(from.getArgument(0), to->getArgument(0));
  if (failed(lowerBlock(from)))
    return failure();
  b.setLoc(op.getLoc());
  hopper::YieldOp::create(b, get(from.getTerminator()->getOperands()));
  return success();
}

LogicalResult KernelLowering::lowerLoadAsync(tile::LoadAsyncOp op) {
  LogicalResult result = success();
  emitFill(*views[op.getView()].ring, op->getParentOfType<warp::GroupOp>(),
           [&] { result = lowerCopies(op); });
  return result;
}

LogicalResult KernelLowering::lowerCopies(tile::LoadAsyncOp op) {
  if (op.getRows())
    return lowerReordered(op);
  return op.getLimit() ? lowerLimited(op) : lowerWhole(op);
}

/// All rows of the tile.
LogicalResult KernelLowering::lowerWhole(tile::LoadAsyncOp op) {
  if (op.getPieces())
    return lowerPieces(op);
  const View &view = views[op.getView()];
  return forEachBox(op, view, op.getSource(), op.getIndices(), op.getFold(),
                    [&](Value map, ValueRange at, Value column) {
                      hopper::TmaLoadOp::create(b, map, at, view.memory->buffer,
                                                view.index, view.row, column,
                                                view.ring->full, view.index);
                    });
}

bool KernelLowering::storesOwn(tile::StoreAsyncOp op) {
  auto view = op.getView().getDefiningOp<tile::ViewOp>();
  return llvm::any_of(view.getSlot().getUsers(), [](Operation *user) {
    return isa<tile::ViewOp>(user) &&
           llvm::any_of(user->getUsers(), llvm::IsaPred<tile::WriteOp>);
  });
}

LogicalResult KernelLowering::lowerStoreAsync(tile::StoreAsyncOp op) {
  const View &view = views[op.getView()];
  // All threads of the replica have written.
  if (!view.ring->isPrivate() && storesOwn(op))
    syncReplica(op);
  Value target = tile::getStoredArray(op.getTarget());
  if (failed(lowerOrder(op)) ||
      failed(forEachBox(op, view, target, op.getIndices(), op.getFold(),
                        [&](Value map, ValueRange at, Value column) {
                          hopper::TmaStoreOp::create(
                              b, view.memory->buffer, view.index, view.row,
                              column, map, at, op.getAdd());
                        })))
    return failure();
  arguments.markStored(target);
  hopper::TmaCommitOp::create(b);
  // Whoever fills the slot next waits for the bulk group.
  set(op.getDone(), hopper::GroupReadyOp::create(b).getGroup());
  return success();
}

/// Whether something behind the write reads from its slot.
static bool isReadLater(tile::WriteOp write) {
  auto view = write.getView().getDefiningOp<tile::ViewOp>();
  return llvm::any_of(view.getSlot().getUsers(), [&](Operation *other) {
    return isa<tile::ViewOp>(other) &&
           llvm::any_of(other->getUsers(), [&](Operation *user) {
             Operation *here = write->getBlock()->findAncestorOpInBlock(*user);
             return isa<tile::DotAsyncOp, tile::ReadOp>(user) && here &&
                    write->isBeforeInBlock(here);
           });
  });
}

LogicalResult KernelLowering::lowerWrite(tile::WriteOp op) {
  const View &view = views[op.getView()];
  FailureOr<LinearLayout> layout = getLayout(op, op.getValue().getType());
  if (failed(layout))
    return failure();
  // A slot held for reading is written in place; all warps of the replica must
  // have done with their products first.
  bool isInPlace =
      !view.ring->isPrivate() && !view.ring->protocol.isFilledByThreads();
  if (isInPlace)
    syncReplica(op);
  hopper::SmemStoreOp::create(b, get(op.getValue()), view.memory->buffer,
                              view.index, view.row, view.column,
                              fragment(*layout));
  // A product reads what all warps have written.
  if (isInPlace && isReadLater(op))
    syncReplica(op);
  return success();
}

LogicalResult KernelLowering::lowerRead(tile::ReadOp op) {
  const View &view = views[op.getView()];
  FailureOr<LinearLayout> layout = getLayout(op, op.getResult().getType());
  if (failed(layout))
    return failure();
  SmallVector<Type> types;
  if (failed(convertType(op.getLoc(), op.getResult().getType(), types)))
    return failure();
  Value value = hopper::SmemLoadOp::create(
      b, types.front(), view.memory->buffer, view.index, view.row, view.column,
      fragment(*layout));
  // Nobody writes what is read here again: one fence does for all products.
  if (llvm::any_of(op.getResult().getUsers(), llvm::IsaPred<tile::DotAsyncOp>))
    value = hopper::WgmmaFenceOp::create(b, value).getResults().front();
  set(op.getResult(), value);
  return success();
}

void KernelLowering::addSlots(Lowerings &lowerings) {
  lowerings.add(&KernelLowering::lowerView);
  lowerings.add(&KernelLowering::lowerLoadAsync);
  lowerings.add(&KernelLowering::lowerStoreAsync);
  lowerings.add(&KernelLowering::lowerWrite);
  lowerings.add(&KernelLowering::lowerRead);
}
