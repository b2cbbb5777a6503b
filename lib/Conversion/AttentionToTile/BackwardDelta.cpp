//===- BackwardDelta.cpp - statistics of queries --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "BackwardDelta.h"
#include "BackwardFused.h"
#include "KernelMath.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fa3;
using attention::BackwardOp;

namespace {
/// Emits the kernel that computes the statistics of queries.
class DeltaBuilder : KernelMath {
public:
  DeltaBuilder(OpBuilder &builder, BackwardOp op,
               const BackwardOperands &operands)
      : KernelMath(op.getLoc(), builder), op(op), operands(operands) {}

  /// Zeroes the sums of dq, which may be null. `unit` is that of shifts.
  void build(Value o, Value lse, Value lseGrad, double unit);

private:
  BackwardOp op;
  const BackwardOperands &operands;
};
} // namespace

void DeltaBuilder::build(Value o, Value lse, Value lseGrad, double unit) {
  constexpr int64_t kRows = 64, kMostColumns = 64;
  constexpr attention::Sequence kQuery = attention::Sequence::query;
  SequenceCode sequences(
      b, op,
      {operands.q, operands.k, operands.aux, operands.maxQ, operands.batch},
      operands.captures);
  Value heads = memref::DimOp::create(b, o, op.getPlaceRank(kQuery) - 2);
  auto [first, head] = sequences.openGrid(
      kQuery, kRows, heads, SequenceCode::getStatisticRows(op) / kRows);
  SmallVector<Value> place = sequences.getPlace(kQuery, head, first);
  if (operands.dqSums)
    buildZeroRows(b, b.getLoc(), operands.dqSums, place, kRows);
  RankedTensorType rowType = tensor({kRows}, b.getF32Type());
  int64_t width = op.getValueHeadDim();
  int64_t columns = std::min(width, kMostColumns);
  Value sum = splat(rowType, 0.0);
  // Columns beyond the last read as zero.
  for (int64_t column = 0; column < width; column += columns) {
    SmallVector<Value> at(place);
    at.push_back(index(column));
    auto load = [&](Value memref) -> Value {
      Value part = tile::LoadOp::create(
          b, tensor({kRows, columns}, op.getElementType()), memref, at);
      return arith::ExtFOp::create(b, tensor({kRows, columns}, b.getF32Type()),
                                   part);
    };
    Value gradient = load(operands.outGrad);
    Value product = mul(load(o), gradient);
    sum = tile::ReduceOp::create(b, rowType, tile::ReduceKind::add, product,
                                 sum, 1, IntegerAttr());
  }
  if (lseGrad)
    sum = sub(sum, tile::LoadOp::create(b, rowType, lseGrad, place));
  Value statistic = tile::LoadOp::create(b, rowType, lse, place);
  Value none = arith::CmpFOp::create(
      b, arith::CmpFPredicate::OEQ, statistic,
      splat(rowType, -std::numeric_limits<double>::infinity()));
  Value scaled = mul(statistic, splat(rowType, -unit));
  scaled = arith::SelectOp::create(b, none, splat(rowType, 0.0), scaled);
  if (SequenceCode::endsEarly(op)) {
    // Behind the end of a sequence there may be another one, or nothing that
    // was ever written: queries there weigh nothing.
    RankedTensorType numbers = tensor({kRows}, b.getIndexType());
    Value end = scalarTile(sequences.queryEnd, numbers);
    Value number = tile::CoordOp::create(b, numbers, 0, first);
    Value isQuery =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number, end);
    auto orElse = [&](Value value, double other) -> Value {
      return arith::SelectOp::create(b, isQuery, value, splat(rowType, other));
    };
    sum = orElse(sum, 0.0);
    scaled = orElse(scaled, -std::numeric_limits<double>::infinity());
  }
  SmallVector<Value> at = sequences.getStatisticPlace(head, first);
  tile::StoreOp::create(b, sum, operands.delta, at);
  tile::StoreOp::create(b, scaled, operands.shift, at);
}

void fa3::buildDeltaBody(OpBuilder &builder, BackwardOp op,
                         const BackwardOperands &operands, Value o, Value lse,
                         Value lseGrad, double unit) {
  DeltaBuilder(builder, op, operands).build(o, lse, lseGrad, unit);
}
