//===- KernelPlaces.cpp - lengths and places of sequences -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the regions of lengths and places say, as scalars of a kernel.
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "Places.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fa3;
using attention::Sequence;

SmallVector<Value> KernelBuilder::expandScalars(Region &region,
                                                ValueRange arguments) {
  Expander expander(b, rows, columns);
  for (auto [from, to] : llvm::zip_equal(region.getArguments(), arguments))
    expander.bind(from, {to, Expander::Uniform});
  for (auto [from, to] : operands.captures.getValueMap())
    expander.bind(from, {to, Expander::Uniform});
  for (auto [tensor, memref] : llvm::zip(op.getAux(), operands.aux))
    expander.bindAux(tensor, memref);
  expander.bindLengths(queryLength, keyLength);
  expander.expandOperations(region);
  return llvm::map_to_vector(
      region.front().getTerminator()->getOperands(),
      [&](Value value) { return expander.get(value).value; });
}

int64_t KernelBuilder::getRankOfRows() {
  if (op)
    return op.getPlaceRank(Sequence::query);
  int64_t rank = cast<MemRefType>(operands.q.getType()).getRank() - 1;
  return operands.packing ? rank - 1 : rank;
}

Value KernelBuilder::buildBatch() {
  if (!operands.batch.aux)
    return memref::DimOp::create(b, operands.q, 0);
  Value array = operands.aux[*operands.batch.aux];
  Value extent = memref::DimOp::create(b, array, operands.batch.axis);
  if (operands.batch.more == 0)
    return extent;
  extent = arith::SubIOp::create(b, extent, index(operands.batch.more));
  return arith::MaxSIOp::create(b, extent, index(0));
}

// Sequence b has the tiles from starts[b] div queries + b on, as many as there
// are to that number of b + 1: enough for its rows, and at most one more, since
// ceil(n / q) <= (s + n) div q - s div q + 1. So the host, which knows none of
// the lengths, can tell the number of tiles; and a tile its sequence, the last
// one that starts in front of it. Starts are to grow; if they do not, some rows
// have no tile, and others are computed twice.

Value KernelBuilder::countTiles(Value queries) {
  Value whole = arith::DivUIOp::create(b, queryLength, queries);
  return arith::AddIOp::create(b, whole, buildBatch());
}

Value KernelBuilder::findSequence(Value tile, Value queries) {
  // A search that asks for three sequences at a time, which are read side by
  // side. Who asks behind the last start gets that: it is in no tile's front.
  Value count = buildBatch(), first = index(0);
  Value next = arith::AddIOp::create(b, tile, index(1));
  auto load = [&](Value sequence) -> Value {
    Value start = tile::ScalarLoadOp::create(b, starts, sequence);
    return arith::IndexCastOp::create(b, b.getIndexType(), start);
  };
  int64_t step = 1;
  while (4 * step <= getMostSequences())
    step *= 4;
  for (; step; step /= 4) {
    Value found = first;
    for (int64_t times : {1, 2, 3}) {
      Value sequence = arith::AddIOp::create(b, first, index(times * step));
      Value start = load(arith::MinSIOp::create(b, sequence, count));
      Value end = arith::MulIOp::create(
          b, arith::SubIOp::create(b, next, sequence), queries);
      Value isFront =
          arith::CmpIOp::create(b, arith::CmpIPredicate::slt, start, end);
      found = arith::SelectOp::create(b, isFront, sequence, found);
    }
    first = found;
  }
  Value last = arith::SubIOp::create(b, count, index(1));
  batch = arith::MinSIOp::create(b, first, last);
  // starts[b] div queries + b, the number of its first tile.
  Value front = arith::AddIOp::create(
      b, arith::FloorDivSIOp::create(b, load(batch), queries), batch);
  return arith::MaxSIOp::create(b, arith::SubIOp::create(b, tile, front),
                                index(0));
}

int64_t KernelBuilder::getMostSequences() {
  int64_t extent = cast<MemRefType>(starts.getType()).getDimSize(0);
  return ShapedType::isDynamic(extent) ? kMostPackedSequences
                                       : std::max<int64_t>(extent - 1, 1);
}

void KernelBuilder::buildLengths() {
  if (!op || !op.hasLengths()) {
    storeEnd = endRow;
    return;
  }
  SmallVector<Value> lengths = expandScalars(op.getLengthsRegion(), batch);
  auto limit = [&](Value length, Sequence sequence, Value extent) -> Value {
    length = arith::MaxSIOp::create(b, length, index(0));
    return op.hasPlace(sequence)
               ? length
               : arith::MinSIOp::create(b, length, extent).getResult();
  };
  queryLength = limit(lengths[0], Sequence::query, queryLength);
  keyLength = limit(lengths[1], Sequence::key, keyLength);
  endRow =
      operands.maxQ
          ? arith::MinSIOp::create(b, queryLength, operands.maxQ).getResult()
          : queryLength;
  storeEnd = getRowPlace(Sequence::query, head, endRow).back();
}

SmallVector<Value> KernelBuilder::getRowPlace(Sequence sequence, Value ofHead,
                                              Value row) {
  if (!batch)
    return {ofHead, row};
  if (!op || op.getPlaceRegion(sequence).empty())
    return {batch, ofHead, row};
  Region &region = op.getPlaceRegion(sequence);
  return expandScalars(region, {batch, ofHead, row});
}

Value KernelBuilder::loadKeys(Value memref, RankedTensorType type,
                              Value firstKey) {
  if (!operands.pieceRows) {
    SmallVector<Value> place = getRowPlace(Sequence::key, keyHead, firstKey);
    place.push_back(index(0));
    return tile::LoadOp::create(b, type, memref, place);
  }
  // A piece behind the last key is one of zeros: it lies outside of the array.
  // The code of places is asked for keys that there are.
  Value one = index(1), zero = index(0);
  Value nowhere = memref::DimOp::create(b, memref, 0);
  Value last =
      arith::MaxSIOp::create(b, arith::SubIOp::create(b, keyLength, one), zero);
  auto load = tile::LoadOp::create(
      b, type, memref, ValueRange(), IntegerAttr(),
      b.getI64IntegerAttr(columns / operands.pieceRows), /*placesCount=*/1);
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(&load.getPlaces().front(), {}, b.getIndexType(),
                               b.getLoc());
  Value key =
      arith::AddIOp::create(b, firstKey,
                            arith::MulIOp::create(b, block->getArgument(0),
                                                  index(operands.pieceRows)));
  Value isKey =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, key, keyLength);
  SmallVector<Value> place = getRowPlace(
      Sequence::key, keyHead, arith::MinSIOp::create(b, key, last).getResult());
  place.front() = arith::SelectOp::create(b, isKey, place.front(), nowhere);
  place.push_back(zero);
  tile::YieldOp::create(b, place);
  return load;
}
