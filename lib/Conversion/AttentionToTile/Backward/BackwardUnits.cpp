//===- BackwardUnits.cpp - sums of dq as integers -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "BackwardUnits.h"
#include "../Emit/KernelMath.h"
#include "../Emit/SequenceCode.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fa3;
using attention::Sequence;

/// Three quarters of what a sum has room for: the rest is for weights and
/// products that are rounded, and for the rounding of each addition.
static constexpr double kUnits = 0x1.8p30;
/// Of a query that gives nothing: the rate stays finite.
static constexpr double kLeastBound = 0x1p-90;

namespace {
/// Emits the kernel that looks at keys and values.
class MaximaBuilder : KernelMath {
public:
  MaximaBuilder(OpBuilder &builder, attention::BackwardOp op,
                const BackwardOperands &operands)
      : KernelMath(op.getLoc(), builder), op(op), operands(operands),
        sequences(b, op, operands, operands.captures) {}

  void build(Value maxima);

private:
  /// Calls `take` with the columns of rows from `row` on, as f32.
  void forEachPart(Value array, Value row, function_ref<void(Value)> take);
  RankedTensorType rowType() { return tensor({kRowsOfMaxima}, b.getF32Type()); }

  attention::BackwardOp op;
  const BackwardOperands &operands;
  SequenceCode sequences;
  Value head;
};
} // namespace

void MaximaBuilder::forEachPart(Value array, Value row,
                                function_ref<void(Value)> take) {
  constexpr int64_t kMostColumns = 64;
  auto type = cast<MemRefType>(array.getType());
  int64_t width = type.getShape().back();
  int64_t columns = std::min(width, kMostColumns);
  Value limit;
  if (SequenceCode::endsEarly(op))
    limit = arith::SubIOp::create(b, sequences.getEnd(Sequence::key), row);
  for (int64_t column = 0; column < width; column += columns) {
    SmallVector<Value> at = sequences.getPlace(Sequence::key, head, row);
    at.push_back(index(column));
    Value part = tile::LoadOp::create(
        b, tensor({kRowsOfMaxima, columns}, type.getElementType()), array, at,
        limit, IntegerAttr(), IntegerAttr(), /*placesCount=*/0);
    take(arith::ExtFOp::create(
        b, tensor({kRowsOfMaxima, columns}, b.getF32Type()), part));
  }
}

void MaximaBuilder::build(Value maxima) {
  Value heads = dim(operands.k, op.getPlaceRank(Sequence::key) - 2), first;
  std::tie(first, head) =
      sequences.openGrid(Sequence::key, kKeysOfMaxima, heads);
  Value zero = splat(rowType(), 0.0);
  auto reduce = [&](tile::ReduceKind kind, Value part, Value init) -> Value {
    return tile::ReduceOp::create(b, rowType(), kind, part, init, 1,
                                  IntegerAttr());
  };
  SmallVector<Value> largest = loop(
      index(kKeysOfMaxima / kRowsOfMaxima), {zero, zero},
      [&](Value step, ValueRange carried) -> SmallVector<Value> {
        Value row = arith::AddIOp::create(
            b, first, arith::MulIOp::create(b, step, index(kRowsOfMaxima)));
        Value element = carried[0], squares = zero;
        forEachPart(operands.k, row, [&](Value part) {
          element = reduce(tile::ReduceKind::max, math::AbsFOp::create(b, part),
                           element);
        });
        forEachPart(operands.v, row, [&](Value part) {
          squares = reduce(tile::ReduceKind::add, mul(part, part), squares);
        });
        return {element, arith::MaxNumFOp::create(b, carried[1], squares)};
      });
  Value to =
      arith::DivUIOp::create(b, first, index(kKeysOfMaxima / kRowsOfMaxima));
  for (auto [number, value] : llvm::enumerate(largest))
    tile::StoreOp::create(b, value, maxima,
                          ValueRange{index(number), sequences.batch, head, to});
}

void fa3::buildKeyMaxima(OpBuilder &builder, attention::BackwardOp op,
                         const BackwardOperands &operands, Value maxima) {
  OpBuilder::InsertionGuard guard(builder);
  MaximaBuilder(builder, op, operands).build(maxima);
}

void fa3::buildReach(OpBuilder &builder, Location loc, Value maxima,
                     Value reach) {
  OpBuilder::InsertionGuard guard(builder);
  KernelMath math(loc, builder);
  ImplicitLocOpBuilder &b = math.b;
  constexpr int64_t kPerStep = 256;
  ValueRange position =
      math.openGrid({math.index(1), math.dim(maxima, 2), math.dim(maxima, 1)});
  Value batch = position[2], head = position[1];
  RankedTensorType stepType = math.tensor({kPerStep}, b.getF32Type());
  RankedTensorType type = math.tensor({kRowsOfMaxima}, b.getF32Type());
  for (int64_t number : {0, 1}) {
    Value steps = math.blocksOf(math.dim(maxima, 3), kPerStep);
    Value largest = math.loop(
        steps, math.splat(stepType, 0.0), [&](Value step, Value init) -> Value {
          Value row = arith::MulIOp::create(b, step, math.index(kPerStep));
          Value part = tile::LoadOp::create(
              b, stepType, maxima,
              ValueRange{math.index(number), batch, head, row});
          return arith::MaxNumFOp::create(b, init, part);
        });
    // Nothing reduces to a number: every row of a tile becomes it.
    Value all = tile::BroadcastOp::create(
        b, math.tensor({kRowsOfMaxima, kPerStep}, b.getF32Type()), largest, 0);
    Value rows =
        tile::ReduceOp::create(b, type, tile::ReduceKind::max, all,
                               math.splat(type, 0.0), 1, IntegerAttr());
    tile::StoreOp::create(
        b, rows, reach,
        ValueRange{math.index(number), batch, head, math.index(0)});
  }
}

Value fa3::buildRate(ImplicitLocOpBuilder &b, Value squares, Value delta,
                     Value reach, Value batch, Value head, Value heads) {
  KernelMath math(b.getLoc(), b);
  auto type = cast<RankedTensorType>(squares.getType());
  Value keyHeads = math.dim(reach, 2);
  Value group = arith::DivUIOp::create(math.b, heads, keyHeads);
  Value keyHead = arith::DivUIOp::create(math.b, head, group);
  auto load = [&](int64_t number) -> Value {
    return tile::LoadOp::create(
        math.b, type, reach,
        ValueRange{math.index(number), batch, keyHead, math.index(0)});
  };
  Value element = load(0), ofValues = math::SqrtOp::create(math.b, load(1));
  Value bound = math.mul(math::SqrtOp::create(math.b, squares), ofValues);
  bound =
      arith::AddFOp::create(math.b, bound, math::AbsFOp::create(math.b, delta));
  bound = arith::AddFOp::create(math.b, math.mul(bound, element),
                                math.splat(type, kLeastBound));
  return arith::DivFOp::create(math.b, math.splat(type, kUnits), bound);
}

Value fa3::countUnits(ImplicitLocOpBuilder &b, Value tile, Value rate) {
  KernelMath math(b.getLoc(), b);
  auto type = cast<RankedTensorType>(tile.getType());
  Value units =
      math.mul(tile, tile::BroadcastOp::create(math.b, type, rate, 1));
  return arith::FPToSIOp::create(math.b,
                                 math.tensor(type.getShape(), b.getI32Type()),
                                 math::RoundEvenOp::create(math.b, units));
}

Value fa3::loadUnit(ImplicitLocOpBuilder &b, Value rates, ValueRange place,
                    int64_t rows) {
  KernelMath math(b.getLoc(), b);
  RankedTensorType type = math.tensor({rows}, b.getF32Type());
  Value rate = tile::LoadOp::create(math.b, type, rates, place);
  return arith::DivFOp::create(math.b, math.splat(type, 1.0), rate);
}
