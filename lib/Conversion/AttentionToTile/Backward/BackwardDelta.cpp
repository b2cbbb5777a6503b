//===- BackwardDelta.cpp - statistics of queries --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "BackwardDelta.h"
#include "../Emit/KernelMath.h"
#include "../Emit/ScalarRegion.h"
#include "../Emit/SequenceCode.h"
#include "BackwardFused.h"
#include "BackwardUnits.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <numeric>

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
  void build(const DeltaInputs &inputs, double unit);

private:
  using Expander = ScalarRegionExpander;

  /// Columns from `column` on of the gradient with respect to o, which are
  /// stored, and those of the gradients of operands that `epilogue` reads.
  Value editGradient(Value o, Value given, int64_t column);
  /// Adds up the columns of gradients of operands that have none, and stores
  /// them.
  void openRowGradients();
  void storeRowGradients();

  static constexpr int64_t kRows = 64;
  /// What the rows at hand are.
  Value head, first, storeEnd;
  SmallVector<Value> place;
  std::optional<SequenceCode> sequences;
  /// Sums of columns, null for gradients that have columns.
  SmallVector<Value> rowGrads;
  BackwardOp op;
  const BackwardOperands &operands;
};
} // namespace

Value DeltaBuilder::editGradient(Value o, Value given, int64_t column) {
  auto type = cast<RankedTensorType>(o.getType());
  int64_t columns = type.getDimSize(1);
  Expander expander(b, kRows, columns);
  auto numbers = [&](int64_t count, Value from) -> Value {
    return tile::CoordOp::create(b, tensor({count}, b.getIndexType()), 0, from);
  };
  expander.bindLengths(sequences->queryLength, sequences->keyLength);
  for (auto [tensor, memref] : llvm::zip(op.getAux(), operands.aux))
    expander.bindAux(tensor, memref);
  Region &region = op.getEpilogueGradRegion();
  expander.bind(region.getArgument(0), {o, Expander::Both});
  expander.bind(region.getArgument(1), {given, Expander::Both});
  bindPlace(expander, region,
            {sequences->batch,
             {head, Expander::Uniform},
             {numbers(kRows, first), Expander::Rows},
             {numbers(columns, index(column)), Expander::Columns}},
            operands.captures);
  expander.expandOperations(region);
  auto yielded = llvm::map_to_vector(
      cast<attention::YieldOp>(region.front().getTerminator()).getValues(),
      [&](Value value) -> Value {
        return expander.lift(b.getLoc(), expander.get(value), Expander::Both);
      });
  auto store = [&](Value value, Value array, ValueRange at) {
    Type element = cast<MemRefType>(array.getType()).getElementType();
    if (!element.isF32())
      value =
          arith::TruncFOp::create(b, tensor(type.getShape(), element), value);
    tile::StoreOp::create(b, value, array, at, storeEnd);
    return value;
  };
  SmallVector<Value> at(place);
  at.push_back(index(column));
  for (auto [number, array] : llvm::enumerate(operands.editGrads)) {
    Value value = yielded[1 + number];
    if (rowGrads[number]) {
      rowGrads[number] = tile::ReduceOp::create(
          b, tensor({kRows}, b.getF32Type()), tile::ReduceKind::add, value,
          rowGrads[number], 1, IntegerAttr());
      continue;
    }
    store(value, array, at);
  }
  return store(yielded.front(), operands.outGrad, at);
}

void DeltaBuilder::openRowGradients() {
  for (Value array : operands.editGrads) {
    int64_t rank = cast<MemRefType>(array.getType()).getRank();
    bool hasColumns = rank > static_cast<int64_t>(place.size());
    rowGrads.push_back(
        hasColumns ? Value() : splat(tensor({kRows}, b.getF32Type()), 0.0));
  }
}

void DeltaBuilder::storeRowGradients() {
  for (auto [sum, array] : llvm::zip_equal(rowGrads, operands.editGrads)) {
    if (!sum)
      continue;
    Type element = cast<MemRefType>(array.getType()).getElementType();
    if (!element.isF32())
      sum = arith::TruncFOp::create(b, tensor({kRows}, element), sum);
    tile::StoreOp::create(b, sum, array, place, storeEnd);
  }
}

void DeltaBuilder::build(const DeltaInputs &inputs, double unit) {
  // Code on the output takes registers beside what it reads.
  const int64_t kMostColumns = inputs.editedGrad ? 32 : 64;
  constexpr attention::Sequence kQuery = attention::Sequence::query;
  sequences.emplace(b, op, operands, operands.captures);
  Value heads = memref::DimOp::create(b, inputs.o, op.getPlaceRank(kQuery) - 2);
  std::tie(first, head) = sequences->openGrid(
      kQuery, kRows, heads, SequenceCode::getStatisticRows(op) / kRows);
  place = sequences->getPlace(kQuery, head, first);
  if (operands.dqSums)
    buildZeroRows(b, b.getLoc(), operands.dqSums,
                  sequences->getSumPlace(head, first), kRows);
  RankedTensorType rowType = tensor({kRows}, b.getF32Type());
  int64_t width = op.getValueHeadDim();
  int64_t columns = std::min(width, kMostColumns);
  // Columns beyond the last read as zero, of which code makes anything.
  bool isEdited = inputs.editedGrad != nullptr;
  if (isEdited)
    columns = std::gcd(columns, width);
  openRowGradients();
  storeEnd = sequences->getStoreEnd(kQuery, head);
  Value sum = splat(rowType, 0.0), squares = sum;
  for (int64_t column = 0; column < width; column += columns) {
    SmallVector<Value> at(place);
    at.push_back(index(column));
    auto load = [&](Value memref) -> Value {
      Value part = tile::LoadOp::create(
          b, tensor({kRows, columns}, op.getElementType()), memref, at);
      return arith::ExtFOp::create(b, tensor({kRows, columns}, b.getF32Type()),
                                   part);
    };
    Value output = load(inputs.o),
          gradient = load(isEdited ? inputs.editedGrad : operands.outGrad);
    if (isEdited)
      gradient =
          arith::ExtFOp::create(b, tensor({kRows, columns}, b.getF32Type()),
                                editGradient(output, gradient, column));
    auto addProducts = [&](Value sum, Value of) -> Value {
      return tile::ReduceOp::create(b, rowType, tile::ReduceKind::add,
                                    mul(of, gradient), sum, 1, IntegerAttr());
    };
    sum = addProducts(sum, output);
    if (inputs.reach)
      squares = addProducts(squares, gradient);
  }
  storeRowGradients();
  if (inputs.lseGrad)
    sum = sub(sum, tile::LoadOp::create(b, rowType, inputs.lseGrad, place));
  Value statistic = tile::LoadOp::create(b, rowType, inputs.lse, place);
  Value none = arith::CmpFOp::create(
      b, arith::CmpFPredicate::OEQ, statistic,
      splat(rowType, -std::numeric_limits<double>::infinity()));
  Value scaled = mul(statistic, splat(rowType, -unit));
  scaled = arith::SelectOp::create(b, none, splat(rowType, 0.0), scaled);
  if (SequenceCode::endsEarly(op)) {
    // Behind the end of a sequence there may be another one, or nothing that
    // was ever written: queries there weigh nothing.
    RankedTensorType numbers = tensor({kRows}, b.getIndexType());
    Value end = scalarTile(sequences->queryEnd, numbers);
    Value number = tile::CoordOp::create(b, numbers, 0, first);
    Value isQuery =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number, end);
    auto orElse = [&](Value value, double other) -> Value {
      return arith::SelectOp::create(b, isQuery, value, splat(rowType, other));
    };
    sum = orElse(sum, 0.0);
    scaled = orElse(scaled, -std::numeric_limits<double>::infinity());
  }
  SmallVector<Value> at = sequences->getStatisticPlace(head, first);
  tile::StoreOp::create(b, sum, operands.delta, at);
  tile::StoreOp::create(b, scaled, operands.shift, at);
  if (inputs.reach)
    tile::StoreOp::create(
        b,
        buildRate(b, squares, sum, inputs.reach, sequences->batch, head, heads),
        operands.dqRate, at);
}

void fa3::buildDeltaBody(OpBuilder &builder, BackwardOp op,
                         const BackwardOperands &operands,
                         const DeltaInputs &inputs, double unit) {
  DeltaBuilder(builder, op, operands).build(inputs, unit);
}
