//===- LimitedCopies.cpp - copies whose rows end early --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A box has all its rows or those inside of the array: no length that is known
// on the device ends it. But a copy may consist of boxes of any heights, and
// one that lies outside of the array brings zeros. So a tile whose rows all
// count is copied as others are, and one that is cut in groups of rows; the
// rows of the group with the cut are boxes of their own.
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;

namespace {
/// Rows of a group: few copies where none is cut, and no more threads than a
/// warp has for the rows of the one that is.
constexpr int64_t kGroupRows = 16;
/// Rows of shared memory are found where bytes are a multiple of these.
constexpr int64_t kUnitBytes = 128;
/// A row that no array has, nor the others of a group from there on.
constexpr int64_t kNowhere = -kGroupRows;
} // namespace

Value KernelLowering::getBoxMap(tile::LoadAsyncOp op, int64_t rows) {
  hopper::BufferType buffer = views[op.getView()].memory->type;
  SmallVector<int64_t> box(cast<MemRefType>(op.getSource().getType()).getRank(),
                           1);
  box[box.size() - 2] = rows;
  box.back() = buffer.getBlockColumns();
  return arguments.getTensorMap(
      op.getSource(),
      hopper::TensorMapType::get(b.getContext(), box,
                                 views[op.getView()].tile.getElementType(),
                                 buffer.getSwizzle()));
}

/// Where the piece with this number is in the array.
FailureOr<KernelLowering::Values>
KernelLowering::lowerPlace(tile::LoadAsyncOp op, Value number) {
  if (!op.getPieces())
    return get(op.getIndices());
  Block &places = op.getPlaces().front().front();
  set(places.getArgument(0), number);
  if (failed(lowerBlock(places)))
    return failure();
  b.setLoc(op.getLoc());
  return get(places.getTerminator()->getOperands());
}

/// Boxes of single rows, from row `first` of the tile on, as long as they are
/// below the limit.
LogicalResult KernelLowering::copySingleRows(tile::LoadAsyncOp op,
                                             int64_t first, int64_t count) {
  const View &view = views[op.getView()];
  int64_t pieceRows = view.tile.getDimSize(0) / op.getPieces().value_or(1);
  int64_t blocks = llvm::divideCeil(view.tile.getDimSize(1),
                                    view.memory->type.getBlockColumns());
  Value row = first ? arith::AddIOp::create(b, view.row, i32(first)).getResult()
                    : view.row;
  auto copy = hopper::TmaLoadOp::create(
      b, getBoxMap(op, 1), ValueRange(), view.memory->buffer, view.index, row,
      view.column, view.ring->full, view.index, b.getI64IntegerAttr(count),
      b.getI64IntegerAttr(blocks), /*placesCount=*/1);
  OpBuilder::InsertionGuard guard(b);
  Block *block =
      b.createBlock(&copy.getPlaces().front(), {}, b.getI32Type(), op.getLoc());
  Value number = arith::AddIOp::create(b, block->getArgument(0), i32(first));
  Value inPiece = number, piece = i32(0);
  if (op.getPieces()) {
    inPiece = arith::RemUIOp::create(b, number, i32(pieceRows));
    piece = arith::DivUIOp::create(b, number, i32(pieceRows));
  }
  FailureOr<Values> at = lowerPlace(op, piece);
  if (failed(at))
    return failure();
  Value &place = *(at->end() - 2);
  Value counts = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number,
                                       get(op.getLimit()));
  Value nowhere = i32(kNowhere);
  place = arith::SelectOp::create(
      b, counts, arith::AddIOp::create(b, place, inPiece), nowhere);
  hopper::YieldOp::create(b, *at);
  return success();
}

/// A group of rows, all of which count or none.
LogicalResult KernelLowering::copyGroup(tile::LoadAsyncOp op, int64_t first) {
  const View &view = views[op.getView()];
  int64_t pieceRows = view.tile.getDimSize(0) / op.getPieces().value_or(1);
  FailureOr<Values> at = lowerPlace(op, i32(first / pieceRows));
  if (failed(at))
    return failure();
  Value counts = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt,
                                       get(op.getLimit()), i32(first));
  Value &place = *(at->end() - 2);
  Value nowhere = i32(kNowhere);
  place = arith::SelectOp::create(
      b, counts, arith::AddIOp::create(b, place, i32(first % pieceRows)),
      nowhere);
  Value map = getBoxMap(op, kGroupRows);
  Value row = arith::AddIOp::create(b, view.row, i32(first));
  Value firstColumn = at->back();
  int64_t width = view.memory->type.getBlockColumns();
  for (int64_t column = 0; column < view.tile.getDimSize(1); column += width) {
    at->back() = arith::AddIOp::create(b, firstColumn, i32(column));
    Value inBuffer = arith::AddIOp::create(b, view.column, i32(column));
    hopper::TmaLoadOp::create(b, map, *at, view.memory->buffer, view.index, row,
                              inBuffer, view.ring->full, view.index);
  }
  return success();
}

LogicalResult KernelLowering::lowerCut(tile::LoadAsyncOp op) {
  const View &view = views[op.getView()];
  int64_t rows = view.tile.getDimSize(0);
  if (rows / op.getPieces().value_or(1) % kGroupRows)
    return copySingleRows(op, 0, rows);
  for (int64_t first = 0; first < rows; first += kGroupRows) {
    // 1 to kGroupRows - 1 rows of the group count.
    Value rest = arith::SubIOp::create(b, get(op.getLimit()), i32(first + 1));
    Value isCut = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, rest,
                                        i32(kGroupRows - 1));
    auto branch = scf::IfOp::create(b, isCut, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    if (failed(copySingleRows(op, first, kGroupRows)))
      return failure();
    b.setInsertionPointToStart(branch.elseBlock());
    if (failed(copyGroup(op, first)))
      return failure();
  }
  return success();
}

LogicalResult KernelLowering::lowerLimited(tile::LoadAsyncOp op) {
  const View &view = views[op.getView()];
  if (!arguments.isArgument(op.getSource()))
    return op.emitOpError("has no lowering to hopper: expects an array that is "
                          "a kernel argument");
  if (view.memory->type.getSwizzle() != kUnitBytes)
    return op.emitOpError("has no lowering to hopper: expects a limit of rows "
                          "of ")
           << kUnitBytes << " bytes in shared memory, got "
           << view.memory->type.getSwizzle();
  Value isWhole =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sge, get(op.getLimit()),
                            i32(view.tile.getDimSize(0)));
  auto branch = scf::IfOp::create(b, isWhole, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  if (failed(lowerWhole(op)))
    return failure();
  b.setInsertionPointToStart(branch.elseBlock());
  return lowerCut(op);
}
