//===- PlaceMods.cpp - modifications that give lengths and places ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Packed, padded and paged sequences, caches with more batches than queries,
// and lists of blocks, as the scalar code that a user would write by hand.
//===----------------------------------------------------------------------===//

#include "ModCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa3::attention;

using Lengths = std::pair<Value, Value>;

/// An integer of an auxiliary operand, as an index.
static Value loadInteger(ImplicitLocOpBuilder &b, Value aux,
                         ValueRange indices) {
  Value element = tensor::ExtractOp::create(b, aux, indices);
  return arith::IndexCastOp::create(b, b.getIndexType(), element);
}

/// No more than the array has rows.
static Value atMostExtent(ImplicitLocOpBuilder &b, Value length,
                          Sequence sequence) {
  Value extent = LengthOp::create(b, b.getIndexType(), sequence);
  return length ? arith::MinSIOp::create(b, length, extent).getResult()
                : extent;
}

bool UsedAttr::hasLengths() const { return true; }

Lengths UsedAttr::buildLengths(ImplicitLocOpBuilder &b,
                               const ModContext &context, Value queries,
                               Value keys) const {
  // No more than there are without it.
  auto use = [&](Value length, int64_t aux) -> Value {
    Value used = loadInteger(b, context.aux[aux], context.batch);
    return length ? arith::MinSIOp::create(b, length, used).getResult() : used;
  };
  if (getQ())
    queries = use(queries, *getQ());
  if (getK())
    keys = use(keys, *getK());
  return {queries, keys};
}

static Value buildPackedLength(ImplicitLocOpBuilder &b,
                               const ModContext &context, int64_t starts,
                               Sequence sequence) {
  Value next = arith::AddIOp::create(b, context.batch, indexConstant(b, 1));
  Value first = loadInteger(b, context.aux[starts], context.batch);
  Value end = loadInteger(b, context.aux[starts], next);
  return atMostExtent(b, arith::SubIOp::create(b, end, first), sequence);
}

bool PackedAttr::hasLengths() const { return true; }
bool PackedAttr::hasPlace(Sequence sequence) const {
  return (sequence == Sequence::query ? getQ() : getK()).has_value();
}
int64_t PackedAttr::getPlaceRank(Sequence sequence, int64_t rank) const {
  return hasPlace(sequence) ? rank - 1 : rank;
}

Lengths PackedAttr::buildLengths(ImplicitLocOpBuilder &b,
                                 const ModContext &context, Value queries,
                                 Value keys) const {
  if (getQ())
    queries = buildPackedLength(b, context, *getQ(), Sequence::query);
  if (getK())
    keys = buildPackedLength(b, context, *getK(), Sequence::key);
  return {queries, keys};
}

SmallVector<Value> PackedAttr::buildPlace(ImplicitLocOpBuilder &b,
                                          const ModContext &context,
                                          Sequence sequence,
                                          ValueRange place) const {
  std::optional<int64_t> starts = sequence == Sequence::query ? getQ() : getK();
  if (!starts)
    return llvm::to_vector(place);
  SmallVector<Value> result(place.drop_front());
  Value first = loadInteger(b, context.aux[*starts], place.front());
  result.back() = arith::AddIOp::create(b, first, result.back());
  return result;
}

bool BatchIndexAttr::hasPlace(Sequence sequence) const {
  return sequence == Sequence::key;
}

SmallVector<Value> BatchIndexAttr::buildPlace(ImplicitLocOpBuilder &b,
                                              const ModContext &context,
                                              Sequence sequence,
                                              ValueRange place) const {
  SmallVector<Value> result(place);
  if (hasPlace(sequence))
    result.front() = loadInteger(b, context.aux[getAux()], place.front());
  return result;
}

std::optional<std::pair<int64_t, int64_t>> BlocksAttr::getBlockSizes() const {
  return std::pair(getQueries(), getKeys());
}

Sequence BlocksAttr::getListedBy() const { return getBy(); }

SmallVector<Value> BlocksAttr::buildBlocks(ImplicitLocOpBuilder &b,
                                           const ModContext &context) const {
  auto read = [&](int64_t aux, ArrayRef<Value> indices) -> Value {
    Value element =
        readElement(b, context.aux[aux], SmallVector<Value>(indices), 2);
    return arith::IndexCastOp::create(b, b.getIndexType(), element);
  };
  SmallVector<Value> place = {context.batch, context.head, context.query};
  SmallVector<Value> entry = place;
  entry.push_back(context.key);
  Value count = read(getCount(), place), number = read(getIndex(), entry);
  if (!getFullCount())
    return {count, number, indexConstant(b, 0), indexConstant(b, 0)};
  return {count, number, read(*getFullCount(), place),
          read(*getFullIndex(), entry)};
}

bool LeftPadAttr::hasLengths() const { return true; }
bool LeftPadAttr::hasPlace(Sequence sequence) const {
  return sequence == Sequence::key;
}

Lengths LeftPadAttr::buildLengths(ImplicitLocOpBuilder &b,
                                  const ModContext &context, Value queries,
                                  Value keys) const {
  if (!keys)
    keys = LengthOp::create(b, b.getIndexType(), Sequence::key);
  Value pad = loadInteger(b, context.aux[getAux()], context.batch);
  return {queries, arith::SubIOp::create(b, keys, pad)};
}

SmallVector<Value> LeftPadAttr::buildPlace(ImplicitLocOpBuilder &b,
                                           const ModContext &context,
                                           Sequence sequence,
                                           ValueRange place) const {
  SmallVector<Value> result(place);
  if (!hasPlace(sequence))
    return result;
  Value pad = loadInteger(b, context.aux[getAux()], context.batch);
  result.back() = arith::AddIOp::create(b, result.back(), pad);
  return result;
}

bool PagedAttr::hasLengths() const { return true; }
bool PagedAttr::hasPlace(Sequence sequence) const {
  return sequence == Sequence::key;
}

Lengths PagedAttr::buildLengths(ImplicitLocOpBuilder &b,
                                const ModContext &context, Value queries,
                                Value keys) const {
  Value pages = tensor::DimOp::create(b, context.aux[getTable()], 1);
  Value room =
      arith::MulIOp::create(b, pages, indexConstant(b, context.keyExtent));
  return {queries,
          keys ? arith::MinSIOp::create(b, keys, room).getResult() : room};
}

SmallVector<Value> PagedAttr::buildPlace(ImplicitLocOpBuilder &b,
                                         const ModContext &context,
                                         Sequence sequence,
                                         ValueRange place) const {
  SmallVector<Value> result(place);
  if (!hasPlace(sequence))
    return result;
  Value rows = indexConstant(b, context.keyExtent), row = place.back();
  Value page = arith::DivUIOp::create(b, row, rows);
  Value pages = tensor::DimOp::create(b, context.aux[getTable()], 1);
  Value batch = place.front(), exists;
  auto isBelow = [&](Value number, Value count) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, count);
  };
  if (context.isWritten) {
    exists = isBelow(page, pages);
    page = arith::SelectOp::create(b, exists, page, indexConstant(b, 0));
  } else {
    // Keys behind the last page have no entry; a row of it may be asked for.
    Value last = arith::SubIOp::create(b, pages, indexConstant(b, 1));
    page = arith::MinSIOp::create(b, page, last);
  }
  if (batch != context.batch) {
    // A number that another array holds, and that may be any.
    Value count = tensor::DimOp::create(b, context.aux[getTable()], 0);
    if (exists)
      exists = arith::AndIOp::create(b, exists, isBelow(batch, count));
    Value most = arith::SubIOp::create(b, count, indexConstant(b, 1));
    batch = arith::MaxSIOp::create(b, batch, indexConstant(b, 0));
    batch = arith::MinSIOp::create(b, batch, most);
  }
  result.front() =
      loadInteger(b, context.aux[getTable()], ValueRange{batch, page});
  if (exists)
    result.front() = arith::SelectOp::create(b, exists, result.front(),
                                             indexConstant(b, -1));
  result.back() = arith::RemUIOp::create(b, row, rows);
  return result;
}
