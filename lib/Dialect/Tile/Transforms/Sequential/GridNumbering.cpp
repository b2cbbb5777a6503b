//===- GridNumbering.cpp - from numbers of tiles to the grid --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "GridNumbering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa3::tile;

Value fa3::tile::product(ImplicitLocOpBuilder &b, ValueRange values) {
  Value result = values.front();
  for (Value value : values.drop_front())
    result = arith::MulIOp::create(b, result, value);
  return result;
}

SmallVector<Value> fa3::tile::decode(ImplicitLocOpBuilder &b, Value id,
                                     ValueRange bounds,
                                     ArrayRef<unsigned> order) {
  SmallVector<Value> indices(bounds.size());
  for (auto [position, dim] : llvm::enumerate(order)) {
    if (position + 1 == order.size()) {
      indices[dim] = id;
      break;
    }
    indices[dim] = arith::RemUIOp::create(b, id, bounds[dim]);
    id = arith::DivUIOp::create(b, id, bounds[dim]);
  }
  return indices;
}

/// A position in the grid: the first index, and the others from their number.
static SmallVector<Value> joinIndices(ImplicitLocOpBuilder &b, Value row,
                                      Value outer, ValueRange bounds) {
  SmallVector<unsigned> fastestFirst(
      llvm::to_vector(llvm::seq<unsigned>(0, bounds.size() - 1)));
  SmallVector<Value> indices = {row};
  llvm::append_range(indices,
                     decode(b, outer, bounds.drop_front(), fastestFirst));
  return indices;
}

SmallVector<Value> fa3::tile::decodeSections(ImplicitLocOpBuilder &b, Value id,
                                             ValueRange bounds,
                                             Value sections) {
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value outer = product(b, bounds.drop_front());
  // ((id / rows + 1) * sections - 1) / outer inverts the formula above.
  Value number = arith::DivUIOp::create(b, id, bounds[0]);
  number = arith::AddIOp::create(b, number, one);
  number = arith::MulIOp::create(b, number, sections);
  number = arith::SubIOp::create(b, number, one);
  number = arith::DivUIOp::create(b, number, outer);
  auto start = [&](Value section) -> Value {
    return arith::DivUIOp::create(b, arith::MulIOp::create(b, section, outer),
                                  sections);
  };
  Value first = start(number);
  Value size = arith::SubIOp::create(
      b, start(arith::AddIOp::create(b, number, one)), first);
  Value within =
      arith::SubIOp::create(b, id, arith::MulIOp::create(b, first, bounds[0]));
  // Sizes differ by at most one. The host knows both, so that it can prepare
  // the divisions.
  Value least = arith::DivUIOp::create(b, outer, sections);
  Value isLeast =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, size, least);
  Value inLarge =
      arith::DivUIOp::create(b, within, arith::AddIOp::create(b, least, one));
  Value row = arith::SelectOp::create(
      b, isLeast, arith::DivUIOp::create(b, within, least), inLarge);
  Value position = arith::AddIOp::create(
      b, first,
      arith::SubIOp::create(b, within, arith::MulIOp::create(b, row, size)));
  return joinIndices(b, row, position, bounds);
}

SmallVector<Value> fa3::tile::decodePartition(ImplicitLocOpBuilder &b, Value id,
                                              ValueRange bounds,
                                              int64_t numFull,
                                              int64_t numShort) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  auto decodeAmong = [&](Value number, int64_t count) {
    Value outer = arith::DivUIOp::create(b, number, constant(count));
    Value row = arith::RemUIOp::create(b, number, constant(count));
    return std::pair(row, outer);
  };
  if (numFull == 0 || numShort == 0) {
    auto [row, outer] = decodeAmong(id, numFull + numShort);
    return joinIndices(b, row, outer, bounds);
  }
  Value fullRows = constant(numFull);
  Value full =
      arith::MulIOp::create(b, product(b, bounds.drop_front()), fullRows);
  auto [row, outer] = decodeAmong(id, numFull);
  auto [shortRow, shortOuter] =
      decodeAmong(arith::SubIOp::create(b, id, full), numShort);
  shortRow = arith::AddIOp::create(b, shortRow, constant(numFull));
  Value isFull = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, id, full);
  Value outerOfTile = arith::SelectOp::create(b, isFull, outer, shortOuter);
  return joinIndices(b, arith::SelectOp::create(b, isFull, row, shortRow),
                     outerOfTile, bounds);
}
