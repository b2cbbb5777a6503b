//===- BackwardFused.cpp - scores once, dq added in memory ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "BackwardFused.h"
#include "../Emit/KernelMath.h"
#include "fa3/Dialect/Tile/IR/OrderedOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;

namespace {
/// Columns that a store or a conversion takes at once.
constexpr int64_t kWidth = 64;
constexpr int64_t kConvertedRows = 64;
} // namespace

void fa3::buildZeroRows(OpBuilder &builder, Location loc, Value sums,
                        ArrayRef<Value> place, int64_t rows) {
  KernelMath math(loc, builder);
  int64_t columns = cast<MemRefType>(sums.getType()).getShape().back();
  int64_t width = std::min(columns, kWidth);
  Value zero = math.splat(math.tensor({rows, width}, builder.getF32Type()), 0);
  // Columns beyond the last are not written.
  for (int64_t column = 0; column < columns; column += width) {
    SmallVector<Value> at(place);
    at.push_back(math.index(column));
    tile::StoreOp::create(math.b, zero, sums, at);
  }
}

void fa3::buildStartOfProgress(OpBuilder &builder, Location loc, Value progress,
                               ArrayRef<Value> line) {
  KernelMath math(loc, builder);
  ImplicitLocOpBuilder &b = math.b;
  // Tiles of the grid share out the elements of a line.
  auto grid = cast<tile::GridOp>(b.getInsertionBlock()->getParentOp());
  Value tiles = grid.getUpperBounds().front();
  Value count = memref::DimOp::create(b, progress, line.size());
  Value rounds = arith::CeilDivSIOp::create(b, count, tiles);
  auto loop = scf::ForOp::create(b, math.index(0), rounds, math.index(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value number = arith::AddIOp::create(
      b, arith::MulIOp::create(b, loop.getInductionVar(), tiles),
      grid.getBody().getArgument(0));
  Value isThere =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number, count);
  auto branch = scf::IfOp::create(b, isThere, /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
  // In front of the first tile there is none that it would wait for.
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, math.index(0));
  auto constant = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  };
  Value start = arith::SelectOp::create(
      b, isFirst, constant(tile::kFrontOfOrdered), constant(0));
  SmallVector<Value> at(line);
  llvm::append_values(at, number, math.index(0));
  tile::StoreOp::create(
      b,
      tensor::SplatOp::create(b, start,
                              math.tensor({kProgressElements}, b.getI32Type())),
      progress, at);
}

void fa3::buildConvertedRows(OpBuilder &builder, attention::BackwardOp op,
                             const BackwardOperands &operands) {
  OpBuilder::InsertionGuard guard(builder);
  KernelMath math(op.getLoc(), builder);
  ImplicitLocOpBuilder &b = math.b;
  constexpr attention::Sequence kQuery = attention::Sequence::query;
  SequenceCode sequences(b, op, operands, operands.captures);
  int64_t rank = op.getPlaceRank(kQuery);
  Value heads = memref::DimOp::create(b, operands.dq, rank - 2);
  auto [first, head] = sequences.openGrid(kQuery, kConvertedRows, heads);
  SmallVector<Value> place = sequences.getPlace(kQuery, head, first);
  SmallVector<Value> sums = sequences.getSumPlace(head, first);
  Value end = sequences.getStoreEnd(kQuery, head);
  auto target = cast<MemRefType>(operands.dq.getType());
  int64_t columns = target.getShape().back(), width = std::min(columns, kWidth);
  RankedTensorType wide = math.tensor({kConvertedRows, width}, b.getF32Type());
  for (int64_t column = 0; column < columns; column += width) {
    SmallVector<Value> from(sums), at(place);
    from.push_back(math.index(column));
    at.push_back(from.back());
    Value sum = tile::LoadOp::create(b, wide, operands.dqSums, from);
    sum = math.mul(sum, math.scalarTile(operands.scale, wide));
    Value result = arith::TruncFOp::create(
        b, math.tensor(wide.getShape(), target.getElementType()), sum);
    tile::StoreOp::create(b, result, operands.dq, at, end);
  }
}
