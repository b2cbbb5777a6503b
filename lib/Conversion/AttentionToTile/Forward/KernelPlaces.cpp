//===- KernelPlaces.cpp - lengths and places of sequences -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the regions of lengths and places say, as scalars of a kernel.
//===----------------------------------------------------------------------===//

#include "../Emit/Places.h"
#include "KernelBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fa3;
using attention::Sequence;

SequenceCode KernelBuilder::getSequences() {
  return SequenceCode(b, op, operands, operands.captures);
}

SmallVector<Value> KernelBuilder::expandScalars(Region &region,
                                                ValueRange arguments) {
  return getSequences().expand(region, arguments, queryLength, keyLength);
}

int64_t KernelBuilder::getRankOfRows() {
  if (op)
    return op.getPlaceRank(Sequence::query);
  int64_t rank = cast<MemRefType>(operands.q.getType()).getRank() - 1;
  return operands.packing ? rank - 1 : rank;
}

void KernelBuilder::buildLengths() {
  if (!op || !op.hasLengths()) {
    storeEnd = endRow;
    return;
  }
  SmallVector<Value> lengths = expandScalars(*op.findLengths(), batch);
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
  if (Region *region = op ? op.findPlace(sequence) : nullptr)
    return expandScalars(*region, {batch, ofHead, row});
  return {batch, ofHead, row};
}

SmallVector<Value> KernelBuilder::getKeyPlaces(Value firstKey) {
  Region *place = op.findPlace(Sequence::key);
  if (!operands.pieceRows || !place)
    return getRowPlace(Sequence::key, keyHead, firstKey);
  Region &region = *place;
  Expander expander(b, rows, columns);
  Value key = tile::CoordOp::create(b, tensor({columns}, b.getIndexType()), 0,
                                    firstKey);
  const Expander::Entry arguments[] = {{batch, Expander::Uniform},
                                       {keyHead, Expander::Uniform},
                                       {key, Expander::Columns}};
  for (auto [argument, entry] : llvm::zip(region.getArguments(), arguments))
    expander.bind(argument, entry);
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

SmallVector<Value> KernelBuilder::bringInside(Value array, ValueRange place) {
  SmallVector<Value> at(place);
  if (!op.hasPlace(Sequence::key))
    return at;
  Value isInside = arith::ConstantOp::create(b, b.getBoolAttr(true));
  for (auto [dim, number] : llvm::enumerate(ArrayRef(at).drop_back())) {
    Value isBelow = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number,
                                          memref::DimOp::create(b, array, dim));
    isInside = arith::AndIOp::create(b, isInside, isBelow);
  }
  // A tile behind the last row is one of zeros.
  Value end = memref::DimOp::create(b, array, at.size() - 1);
  at.back() = arith::SelectOp::create(b, isInside, at.back(), end);
  return at;
}

Value KernelBuilder::loadKeyScales(Value scales, ValueRange places,
                                   Value firstKey) {
  RankedTensorType type = tensor({columns}, b.getF32Type());
  Value own;
  if (llvm::any_of(places.getTypes(), llvm::IsaPred<RankedTensorType>))
    own = tile::GatherOp::create(b, type, scales, places);
  else
    own = tile::LoadOp::create(b, type, scales, bringInside(scales, places));
  if (op.hasLengths()) {
    // What lies there may be no number, and times a weight of 0 none, too.
    RankedTensorType numbers = tensor({columns}, b.getIndexType());
    Value isKey =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                              tile::CoordOp::create(b, numbers, 0, firstKey),
                              scalarTile(keyLength, numbers));
    own = arith::SelectOp::create(b, isKey, own, splat(type, 0.0));
  }
  return tile::BroadcastOp::create(b, tensor({rows, columns}, b.getF32Type()),
                                   own, 0);
}

Value KernelBuilder::loadNibbles(Value memref, RankedTensorType type,
                                 Value firstKey) {
  auto bytes =
      tensor({type.getDimSize(0), type.getDimSize(1) / 2}, b.getIntegerType(8));
  // Integers are numbers, whatever lies behind a sequence.
  Value packed = loadKeys(memref, bytes, firstKey, /*areClean=*/false);
  return tile::UnpackOp::create(b, type, packed);
}

Value KernelBuilder::loadKeys(Value memref, RankedTensorType type,
                              Value firstKey, bool areClean) {
  // Where sequences fill their arrays, copies end with these.
  Value limit;
  if (areClean && op.hasLengths())
    limit = arith::SubIOp::create(b, keyLength, firstKey);
  if (!operands.pieceRows) {
    SmallVector<Value> place = getRowPlace(Sequence::key, keyHead, firstKey);
    place.push_back(index(0));
    return tile::LoadOp::create(b, type, memref, place, limit, IntegerAttr(),
                                IntegerAttr(), /*placesCount=*/0);
  }
  // A piece behind the last key is one of zeros: it lies outside of the array.
  // The code of places is asked for keys that there are.
  Value one = index(1), zero = index(0);
  Value nowhere = memref::DimOp::create(b, memref, 0);
  Value last =
      arith::MaxSIOp::create(b, arith::SubIOp::create(b, keyLength, one), zero);
  auto load = tile::LoadOp::create(
      b, type, memref, ValueRange(), limit, IntegerAttr(),
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
