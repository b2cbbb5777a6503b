//===- BackwardAux.cpp - gradients of auxiliary operands ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// An element that one pair of a query and a key reads is a score of a tile, and
// heads that share it are added up in registers. One that a whole row reads is
// the sum of a row of a tile, which goes to memory where several rows, heads or
// sequences share the element: few are left, and a second kernel adds them.
//
//===----------------------------------------------------------------------===//

#include "BackwardAux.h"
#include "../Emit/KernelMath.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;
using attention::AuxIndex;
using attention::AuxPlace;

static bool hasRow(const AuxPlace &place) {
  return place.has(AuxIndex::Query) || place.has(AuxIndex::Key);
}

BackwardProducts fa3::getAuxProducts(const AuxPlace &place) {
  BackwardProducts products;
  if (place.isTable()) {
    products.aux = BackwardProducts::OfTable;
    return products;
  }
  bool ofQuery = place.has(AuxIndex::Query), ofKey = place.has(AuxIndex::Key);
  products.aux =
      ofQuery && ofKey ? BackwardProducts::OfPairs : BackwardProducts::OfRows;
  products.ofKeys = ofKey && !ofQuery;
  return products;
}

bool fa3::hasPartialSums(const AuxPlace &place) {
  if (place.has(AuxIndex::Query) && place.has(AuxIndex::Key))
    return false;
  return !hasRow(place) || !place.has(AuxIndex::Batch) ||
         !place.has(AuxIndex::Head);
}

namespace {
class AuxSumBuilder : KernelMath {
public:
  AuxSumBuilder(OpBuilder &builder, Location loc, const AuxPlace &place,
                Value partials, Value gradient)
      : KernelMath(loc, builder), place(place), partials(partials),
        gradient(gradient) {}

  void build();

private:
  /// Rows that one CTA keeps, and partial sums that a step reads.
  static constexpr int64_t kRows = 64, kPartialsPerStep = 256;

  Value extent(int64_t axis) { return dim(partials, axis); }
  /// Adds up the rows from `first` on, of all heads and sequences that share
  /// the element.
  Value sumUp(Value batch, Value head, Value first, Value init);
  void store(Value sum, Value batch, Value head, Value first);

  const AuxPlace &place;
  Value partials, gradient;
};
} // namespace

Value AuxSumBuilder::sumUp(Value batch, Value head, Value first, Value init) {
  Type type = init.getType();
  auto addOf = [&](Value batch, Value head, Value row, Value sum) -> Value {
    Value part =
        tile::LoadOp::create(b, type, partials, ValueRange{batch, head, row});
    return arith::AddFOp::create(b, sum, part);
  };
  // Rows that an element does not tell apart are read in steps.
  auto addRows = [&](Value batch, Value head, Value sum) -> Value {
    if (hasRow(place))
      return addOf(batch, head, first, sum);
    Value steps = blocksOf(extent(2), kPartialsPerStep);
    return loop(steps, sum, [&](Value step, Value sum) {
      Value row = arith::MulIOp::create(b, step, index(kPartialsPerStep));
      return addOf(batch, head, row, sum);
    });
  };
  auto addHeads = [&](Value batch, Value sum) -> Value {
    if (head)
      return addRows(batch, head, sum);
    return loop(extent(1), sum, [&](Value each, Value sum) {
      return addRows(batch, each, sum);
    });
  };
  if (batch)
    return addHeads(batch, init);
  return loop(extent(0), init,
              [&](Value each, Value sum) { return addHeads(each, sum); });
}

void AuxSumBuilder::store(Value sum, Value batch, Value head, Value first) {
  Value values[] = {batch, head, first, first, index(0)};
  SmallVector<Value> at;
  for (AuxIndex which : place.indices)
    at.push_back(values[static_cast<unsigned>(which)]);
  Type element = cast<MemRefType>(gradient.getType()).getElementType();
  auto type = cast<RankedTensorType>(sum.getType());
  if (!element.isF32())
    sum = arith::TruncFOp::create(b, tensor(type.getShape(), element), sum);
  Value end;
  if (!hasRow(place))
    end = arith::AddIOp::create(b, at.back(), index(1));
  tile::StoreOp::create(b, sum, gradient, at, end);
}

void AuxSumBuilder::build() {
  bool ofBatch = place.has(AuxIndex::Batch), ofHead = place.has(AuxIndex::Head);
  SmallVector<Value> bounds = {hasRow(place) ? blocksOf(extent(2), kRows)
                                             : index(1)};
  if (ofHead)
    bounds.push_back(extent(1));
  if (ofBatch)
    bounds.push_back(extent(0));
  ValueRange position = openGrid(bounds);
  Value head = ofHead ? position[1] : Value(),
        batch = ofBatch ? position.back() : Value();
  Value first = arith::MulIOp::create(b, position[0], index(kRows));
  int64_t width = hasRow(place) ? kRows : kPartialsPerStep;
  Value sum =
      sumUp(batch, head, first, splat(tensor({width}, b.getF32Type()), 0.0));
  if (!hasRow(place)) {
    // Nothing reduces to a number: every row of a tile becomes the sum, and the
    // first one is stored.
    RankedTensorType type = tensor({kRows}, b.getF32Type());
    Value all = tile::BroadcastOp::create(
        b, tensor({kRows, width}, b.getF32Type()), sum, 0);
    sum = tile::ReduceOp::create(b, type, tile::ReduceKind::add, all,
                                 splat(type, 0.0), 1, IntegerAttr());
  }
  store(sum, batch, head, first);
}

void fa3::buildAuxSum(OpBuilder &builder, Location loc, const AuxPlace &place,
                      Value partials, Value gradient) {
  OpBuilder::InsertionGuard guard(builder);
  AuxSumBuilder(builder, loc, place, partials, gradient).build();
}
