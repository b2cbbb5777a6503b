//===- SequenceCode.cpp - lengths and places in a kernel ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Of sequences that lie one behind the other, b has the tiles from
// starts[b] div rows + b on, as many as there are to that number of b + 1:
// enough for its rows, and at most one more, since
// ceil(n / r) <= (s + n) div r - s div r + 1. So the host, which knows none of
// the lengths, can tell the number of tiles; and a tile its sequence, the last
// one that starts in front of it. Starts are to grow; if they do not, some rows
// have no tile, and others are computed twice.
//===----------------------------------------------------------------------===//

#include "SequenceCode.h"
#include "ScalarRegion.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fa3;
using attention::Sequence;

/// Sequences that may lie one behind the other, where their number is not
/// static: a tile looks for its own among them.
static constexpr int64_t kMostPackedSequences = 4095;

void SequenceCode::readExtents() {
  queryExtent = dim(operands.q, op.getPlaceRank(Sequence::query) - 1);
  keyExtent = dim(operands.k, op.getPlaceRank(Sequence::key) - 1);
}

SmallVector<Value> SequenceCode::expand(Region &region, ValueRange arguments,
                                        Value queries, Value keys) {
  using Expander = ScalarRegionExpander;
  // All values are scalars: the sizes of tiles do not matter.
  Expander expander(b, 1, 1);
  for (auto [from, to] : llvm::zip_equal(region.getArguments(), arguments))
    expander.bind(from, {to, Expander::Uniform});
  for (auto [from, to] : captures.getValueMap())
    expander.bind(from, {to, Expander::Uniform});
  for (auto [tensor, memref] : llvm::zip(op.getAux(), operands.aux))
    expander.bindAux(tensor, memref);
  expander.bindLengths(queries, keys);
  expander.expandOperations(region);
  return llvm::map_to_vector(
      region.front().getTerminator()->getOperands(),
      [&](Value value) { return expander.get(value).value; });
}

Value SequenceCode::buildBatch() {
  if (!operands.batchExtent.aux)
    return dim(operands.q, 0);
  Value extent =
      dim(operands.aux[*operands.batchExtent.aux], operands.batchExtent.axis);
  if (operands.batchExtent.more == 0)
    return extent;
  extent = arith::SubIOp::create(b, extent, index(operands.batchExtent.more));
  return arith::MaxSIOp::create(b, extent, index(0));
}

Value SequenceCode::countTiles(Value extent, Value rows) {
  Value whole = arith::DivUIOp::create(b, extent, rows);
  return arith::AddIOp::create(b, whole, buildBatch());
}

/// The most sequences that starts say something of.
static int64_t getMostSequences(Value starts) {
  int64_t extent = cast<MemRefType>(starts.getType()).getDimSize(0);
  return ShapedType::isDynamic(extent) ? kMostPackedSequences
                                       : std::max<int64_t>(extent - 1, 1);
}

std::pair<Value, Value> SequenceCode::findSequence(Value starts, Value tile,
                                                   Value rows) {
  // The first tile of sequence b is number starts[b] div rows + b: it is not
  // behind `tile` if starts[b] < (tile + 1 - b) * rows.
  Value one = index(1);
  Value count = arith::MaxSIOp::create(b, buildBatch(), one);
  Value limit =
      arith::MulIOp::create(b, arith::AddIOp::create(b, tile, index(1)), rows);
  Value sequence =
      tile::SearchOp::create(b, b.getIndexType(), starts, index(1), count,
                             limit, rows, getMostSequences(starts));
  auto load = [&](Value sequence) -> Value {
    Value start = tile::ScalarLoadOp::create(b, starts, sequence);
    return arith::IndexCastOp::create(b, b.getIndexType(), start);
  };
  // starts[b] div rows + b, the number of its first tile.
  Value front = arith::AddIOp::create(
      b, arith::FloorDivSIOp::create(b, load(sequence), rows), sequence);
  Value none = index(0);
  Value ofSequence =
      arith::MaxSIOp::create(b, arith::SubIOp::create(b, tile, front), none);
  return {sequence, ofSequence};
}

std::pair<Value, Value> SequenceCode::openGrid(Sequence rows, int64_t count,
                                               Value heads, int64_t parts) {
  readExtents();
  Value perBlock = index(count * parts), starts;
  Value extent = rows == Sequence::query ? queryExtent : keyExtent;
  if (std::optional<unsigned> number = attention::getSequenceStarts(op, rows))
    starts = operands.aux[*number];
  Value tiles;
  if (starts) {
    tiles = countTiles(extent, perBlock);
  } else {
    if (rows == Sequence::query && operands.maxQ)
      extent = arith::MaxSIOp::create(b, operands.maxQ, index(0));
    tiles = arith::CeilDivSIOp::create(b, extent, perBlock);
  }
  if (parts > 1)
    tiles = arith::MulIOp::create(b, tiles, index(parts));
  SmallVector<Value> bounds = {tiles, heads};
  if (!starts)
    bounds.push_back(buildBatch());
  auto grid = tile::GridOp::create(b, bounds);
  b.setInsertionPointToStart(&grid.getBody().front());
  ValueRange position = grid.getBody().getArguments();
  Value block = position[0], sequence = position.back(), part;
  if (parts > 1) {
    part = arith::RemUIOp::create(b, block, index(parts));
    block = arith::DivUIOp::create(b, block, index(parts));
  }
  if (starts)
    std::tie(sequence, block) = findSequence(starts, block, perBlock);
  Value first = arith::MulIOp::create(b, block, perBlock);
  if (part)
    first = arith::AddIOp::create(b, first,
                                  arith::MulIOp::create(b, part, index(count)));
  setSequence(sequence);
  return {first, position[1]};
}

void SequenceCode::setSequence(Value sequence) {
  batch = sequence;
  queryLength = queryEnd = queryExtent;
  keyLength = keyExtent;
  if (op.hasLengths()) {
    SmallVector<Value> lengths =
        expand(*op.findLengths(), batch, queryExtent, keyExtent);
    auto limit = [&](Value length, Sequence sequence, Value extent) -> Value {
      length = arith::MaxSIOp::create(b, length, index(0));
      return op.hasPlace(sequence)
                 ? length
                 : arith::MinSIOp::create(b, length, extent).getResult();
    };
    queryLength = queryEnd = limit(lengths[0], Sequence::query, queryExtent);
    keyLength = limit(lengths[1], Sequence::key, keyExtent);
  }
  if (operands.maxQ)
    queryEnd = arith::MinSIOp::create(b, queryLength, operands.maxQ);
}

SmallVector<Value> SequenceCode::getPlace(Sequence sequence, Value head,
                                          Value row) {
  if (Region *region = op.findPlace(sequence))
    return expand(*region, {batch, head, row}, queryLength, keyLength);
  return {batch, head, row};
}

SmallVector<Value> SequenceCode::getStatisticPlace(Value head, Value query) {
  std::optional<unsigned> number =
      attention::getSequenceStarts(op, Sequence::query);
  if (!number)
    return {batch, head, query};
  // The blocks that openGrid has for the sequence.
  Value rows = index(getStatisticRows(op));
  Value start = tile::ScalarLoadOp::create(b, operands.aux[*number], batch);
  start = arith::IndexCastOp::create(b, b.getIndexType(), start);
  Value tile = arith::AddIOp::create(
      b, arith::FloorDivSIOp::create(b, start, rows), batch);
  return {head, arith::AddIOp::create(b, arith::MulIOp::create(b, tile, rows),
                                      query)};
}

Value SequenceCode::getStoreEnd(Sequence sequence, Value head) {
  bool isEarly =
      op.hasLengths() || (sequence == Sequence::query && operands.maxQ);
  return isEarly ? getPlace(sequence, head, getEnd(sequence)).back() : Value();
}

SmallVector<Value> SequenceCode::getPlaceOfScale(Value scales, Value sequence,
                                                 Value head, Value heads) {
  auto share = [&](Value number, unsigned dim,
                   function_ref<Value()> count) -> Value {
    auto type = cast<MemRefType>(scales.getType());
    if (type.getDimSize(dim) == 1)
      return index(0);
    Value extent = memref::DimOp::create(b, scales, dim);
    return arith::DivUIOp::create(b, arith::MulIOp::create(b, number, extent),
                                  count());
  };
  Value ofSequence = share(sequence, 0, [&]() { return buildBatch(); });
  return {ofSequence, share(head, 1, [&]() { return heads; })};
}

SmallVector<Value>
fa3::getStatisticExtents(ImplicitLocOpBuilder &b,
                         const attention::HostFunction &host) {
  Value rows = arith::ConstantIndexOp::create(
      b, SequenceCode::getStatisticRows(host.getScored()));
  auto fill = [&](Value tiles) -> Value {
    return arith::MulIOp::create(b, tiles, rows);
  };
  if (attention::getSequenceStarts(host.getScored(), Sequence::query)) {
    Value whole = arith::DivUIOp::create(b, host.queries, rows);
    return {host.heads, fill(arith::AddIOp::create(b, whole, host.batch))};
  }
  Value queries = host.queries;
  if (host.maxQ)
    queries = arith::MaxSIOp::create(b, host.maxQ,
                                     arith::ConstantIndexOp::create(b, 0));
  return {host.batch, host.heads,
          fill(arith::CeilDivSIOp::create(b, queries, rows))};
}

void fa3::limitSequences(attention::HostFunction &host, Sequence sequence) {
  attention::ScoredOpInterface op = host.getScored();
  std::optional<unsigned> starts = attention::getSequenceStarts(op, sequence);
  if (!starts || !cast<MemRefType>(host.aux[*starts].getType()).isDynamicDim(0))
    return;
  OpBuilder builder = host.getBuilder();
  ImplicitLocOpBuilder b(op->getLoc(), builder);
  Value most = arith::ConstantIndexOp::create(b, kMostPackedSequences);
  Value fits =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sle, host.batch, most);
  cf::AssertOp::create(b, fits,
                       b.getStringAttr("there are more than " +
                                       Twine(kMostPackedSequences) +
                                       " packed sequences"));
}
