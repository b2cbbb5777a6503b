//===- BackwardFused.cpp - scores once, dq added in memory ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "BackwardFused.h"
#include "../Emit/KernelMath.h"
#include "BackwardUnits.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

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
  Type element = cast<MemRefType>(sums.getType()).getElementType();
  Value zero = arith::ConstantOp::create(
      math.b, builder.getZeroAttr(math.tensor({rows, width}, element)));
  // Columns beyond the last are not written.
  for (int64_t column = 0; column < columns; column += width) {
    SmallVector<Value> at(place);
    at.push_back(math.index(column));
    tile::StoreOp::create(math.b, zero, sums, at);
  }
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
  Value unit;
  if (operands.dqRate)
    unit = loadUnit(b, operands.dqRate,
                    sequences.getStatisticPlace(head, first), kConvertedRows);
  for (int64_t column = 0; column < columns; column += width) {
    SmallVector<Value> from(sums), at(place);
    from.push_back(math.index(column));
    at.push_back(from.back());
    Type summed = cast<MemRefType>(operands.dqSums.getType()).getElementType();
    Value sum = tile::LoadOp::create(b, math.tensor(wide.getShape(), summed),
                                     operands.dqSums, from);
    if (unit)
      sum = math.mul(arith::SIToFPOp::create(b, wide, sum),
                     tile::BroadcastOp::create(b, wide, unit, 1));
    sum = math.mul(sum, math.scalarTile(operands.scale, wide));
    Value result = arith::TruncFOp::create(
        b, math.tensor(wide.getShape(), target.getElementType()), sum);
    tile::StoreOp::create(b, result, operands.dq, at, end);
  }
}
