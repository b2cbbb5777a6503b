//===- ForwardReference.cpp - attention by definition on the CPU ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// What attention.forward means, as loops over memrefs.
// Kept as close to the formula as possible; nothing here is for speed.
//===----------------------------------------------------------------------===//

#include "ForwardReference.h"
#include "QuantizeReference.h"
#include "ReferenceLoops.h"
#include "ReferenceRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;
using namespace fa3;
using namespace fa3::attention;

namespace {
/// Emits the loops of one host function.
class ReferenceBuilder : ReferenceLoops {
public:
  ReferenceBuilder(HostFunction &host, Precision precision);

  /// All heads of all batches.
  void buildAll();
  /// The heads numbered `first` to `last`; gives the number of all.
  Value buildSlice(Value first, Value last);

private:
  Value number(double value);
  /// An element of q, k or v, or an f32, in the type of the computation.
  Value widen(Value value);
  /// To the element type and back where the precision asks for it; to bf16
  /// where that has 8 bits.
  Value round(Value value);
  /// The same for weights, which are operands of a product.
  Value roundWeight(Value value);
  /// An element of k or v, of a row at this place.
  Value loadKey(Value rows, Value scales, ArrayRef<Value> place, Value c,
                int64_t columns);
  /// An element of q, the sum of its terms.
  Value loadQuery(ArrayRef<Value> at);
  /// `value` times the scale of a row of q (0), k (1) or v (2).
  Value applyScale(Value value, unsigned operand, Value batch, Value head,
                   Value row);
  Value loadScale(unsigned operand, Value batch, Value head, Value row);
  Value loadSink(Value head);
  void storeRounded(Value value, Value memref, ValueRange indices);

  void buildScratch();
  void freeScratch();
  void buildHead(Value b, Value h);
  void buildRow(Value b, Value h, Value keyHead, Value i);
  void storeMaxLogit(Value b, Value h, Value i);
  Value loadPreviousLse(Value batch, Value h, Value i);
  void startSums(Value batch, Value h, Value i, Value max, Value total);
  void storeOutput(Value x, Value batch, Value h, Value i, Value c);
  /// What is stored in place of an element of the output.
  Value editOutput(Value x, Value batch, Value h, Value i, Value c);
  void buildOutput(Value b, Value h, Value keyHead, Value i, Value max);
  Value buildScoreMod(Value b, Value h, Value keyHead, Value i, Value j);
  Value buildDot(Value b, Value h, Value keyHead, Value i, Value j);
  /// What a weight is in the output.
  Value dropWeight(Value weight, Value b, Value h, Value i, Value j);
  /// Whether the key is visible; null if all are.
  Value buildVisible(Value b, Value h, Value i, Value j);
  /// Copies the code of a region to the insertion point.
  SmallVector<Value> inlineRegion(Region &region, ValueRange arguments);
  /// Sets the lengths of a sequence.
  void setLengths(Value batch);
  /// Where a query or key is, in its arrays.
  SmallVector<Value> getPlace(Sequence sequence, Value batch, Value h,
                              Value row);
  /// Runs `body` if the row is one of the array, which without a place it is.
  void ifInside(Sequence sequence, ArrayRef<Value> place,
                function_ref<void()> body);

  HostFunction &host;
  bool isLow;
  Type compute, element;
  Value headDim, valueHeadDim, group, scale;
  /// Of the sequence at hand: lengths, and how many queries are computed.
  Value queries, keys, rows;
  Value row;     ///< scores of one query, then their weights
  Value product; ///< of one query and key, where that has a place
  Value sum;     ///< weighted sum of values of one query
};
} // namespace

ReferenceBuilder::ReferenceBuilder(HostFunction &host, Precision precision)
    : ReferenceLoops(host.forward.getLoc(), host.getBuilder()), host(host),
      isLow(precision == Precision::low),
      element(host.forward.getElementType()) {
  compute = isLow ? b.getF32Type() : b.getF64Type();
  headDim = index(host.forward.getHeadDim());
  valueHeadDim = index(host.forward.getValueHeadDim());
  group = arith::DivUIOp::create(b, host.heads, host.keyHeads);
  scale = widen(host.scale);
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

Value ReferenceBuilder::number(double value) {
  return arith::ConstantOp::create(b, b.getFloatAttr(compute, value));
}

Value ReferenceBuilder::loadScale(unsigned operand, Value batch, Value head,
                                  Value row) {
  Value scales = host.scales[operand];
  auto share = [&](Value number, int64_t axis, Value count) -> Value {
    Value extent = memref::DimOp::create(b, scales, axis);
    return arith::DivUIOp::create(b, arith::MulIOp::create(b, number, extent),
                                  count);
  };
  int64_t rows = host.forward.getScaleRows(operand);
  Value block = zero;
  if (rows)
    block =
        arith::DivUIOp::create(b, row, arith::ConstantIndexOp::create(b, rows));
  return widen(
      memref::LoadOp::create(b, scales,
                             ValueRange{share(batch, 0, host.batch),
                                        share(head, 1, host.heads), block}));
}

Value ReferenceBuilder::applyScale(Value value, unsigned operand, Value batch,
                                   Value head, Value row) {
  if (!host.forward.hasScales())
    return value;
  return arith::MulFOp::create(b, value, loadScale(operand, batch, head, row));
}

Value ReferenceBuilder::widen(Value value) {
  if (value.getType().isInteger())
    value = arith::SIToFPOp::create(b, b.getF32Type(), value);
  else if (value.getType().getIntOrFloatBitWidth() == 8)
    value = decodeFloat8(b, value);
  for (Type type : {Type(b.getF32Type()), compute})
    if (value.getType().getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
      value = arith::ExtFOp::create(b, type, value);
  return value;
}

Value ReferenceBuilder::round(Value value) {
  if (!isLow)
    return value;
  Type type = host.forward.hasScales() ? Type(b.getBF16Type()) : element;
  return widen(arith::TruncFOp::create(b, type, value));
}

Value ReferenceBuilder::roundWeight(Value value) {
  if (!isLow || !host.forward.hasScales())
    return round(value);
  return roundToFloat8(b, value, host.forward.getValueElementType());
}

void ReferenceBuilder::storeRounded(Value value, Value memref,
                                    ValueRange indices) {
  // Through f32, the type of sums in every implementation.
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  for (Type type : {Type(b.getF32Type()), element}) {
    unsigned bits = type.getIntOrFloatBitWidth();
    if (bits == 8)
      value = encodeFloat8(b, value, type);
    else if (bits < value.getType().getIntOrFloatBitWidth())
      value = arith::TruncFOp::create(b, type, value);
  }
  memref::StoreOp::create(b, value, memref, indices);
}

SmallVector<Value> ReferenceBuilder::inlineRegion(Region &region,
                                                  ValueRange arguments) {
  return attention::inlineRegion(b, host, region, arguments, {queries, keys});
}

//===----------------------------------------------------------------------===//
// Lengths and places
//===----------------------------------------------------------------------===//

void ReferenceBuilder::setLengths(Value batch) {
  queries = host.queries;
  keys = host.keys;
  if (Region *region = host.forward.findLengths()) {
    SmallVector<Value> lengths = inlineRegion(*region, batch);
    for (auto [length, extent, sequence] :
         {std::tuple(&queries, host.queries, Sequence::query),
          {&keys, host.keys, Sequence::key}}) {
      *length = arith::MaxSIOp::create(
          b, lengths[static_cast<unsigned>(sequence)], zero);
      if (!host.forward.hasPlace(sequence))
        *length = arith::MinSIOp::create(b, *length, extent);
    }
  }
  rows = queries;
  if (host.maxQ)
    rows = arith::MinSIOp::create(b, rows, host.maxQ);
}

SmallVector<Value> ReferenceBuilder::getPlace(Sequence sequence, Value batch,
                                              Value h, Value row) {
  if (Region *region = host.forward.findPlace(sequence))
    return inlineRegion(*region, {batch, h, row});
  return {batch, h, row};
}

void ReferenceBuilder::ifInside(Sequence sequence, ArrayRef<Value> place,
                                function_ref<void()> body) {
  if (!host.forward.hasPlace(sequence))
    return body();
  Value isInside =
      buildIsInside(b, sequence == Sequence::query ? host.q : host.k, place);
  auto branch = scf::IfOp::create(b, TypeRange(), isInside,
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

Value ReferenceBuilder::loadQuery(ArrayRef<Value> at) {
  Value sum = widen(memref::LoadOp::create(b, host.q, at));
  for (uint64_t term = 1; term < host.forward.getQTerms(); ++term) {
    SmallVector<Value> place(at);
    Value behind =
        arith::ConstantIndexOp::create(b, term * host.forward.getHeadDim());
    place.back() = arith::AddIOp::create(b, place.back(), behind);
    Value other = widen(memref::LoadOp::create(b, host.q, place));
    sum = arith::AddFOp::create(b, sum, other);
  }
  return sum;
}

Value ReferenceBuilder::loadKey(Value rows, Value scales, ArrayRef<Value> place,
                                Value c, int64_t columns) {
  SmallVector<Value> at(place);
  if (!scales) {
    at.push_back(c);
    return widen(memref::LoadOp::create(b, rows, at));
  }
  Value half = arith::ConstantIndexOp::create(b, columns / 2);
  at.push_back(arith::RemUIOp::create(b, c, half));
  Value byte = memref::LoadOp::create(b, rows, at);
  auto bits = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI8IntegerAttr(value));
  };
  Value isLow = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, c, half);
  Value low = arith::ShLIOp::create(b, byte, bits(4));
  Value high = arith::SelectOp::create(b, isLow, low, byte);
  Value number = arith::ShRSIOp::create(b, high, bits(4));
  at.pop_back();
  Value scale = widen(memref::LoadOp::create(b, scales, at));
  return arith::MulFOp::create(b, widen(number), scale);
}

Value ReferenceBuilder::buildDot(Value batch, Value h, Value keyHead, Value i,
                                 Value j) {
  // The order of a sum of products is free; the loop may be vectorized.
  auto anyOrder = arith::FastMathFlagsAttr::get(
      b.getContext(),
      arith::FastMathFlags::reassoc | arith::FastMathFlags::contract);
  ForwardOp forward = host.forward;
  SmallVector<Value> ofQuery = getPlace(Sequence::query, batch, h, i),
                     ofKey = getPlace(Sequence::key, batch, keyHead, j);
  auto at = [](SmallVector<Value> place, Value c) {
    place.push_back(c);
    return place;
  };
  auto addProduct = [&](Value partial, Value x, Value rows, Value c) -> Value {
    Value y = loadKey(rows, host.keyScale, ofKey, c, forward.getHeadDim());
    if (isLow)
      y = round(arith::MulFOp::create(b, y, scale));
    Value product = arith::MulFOp::create(b, x, y, anyOrder);
    return arith::AddFOp::create(b, partial, product, anyOrder);
  };
  auto multiply = [&]() -> Value {
    Value sum = reduce(headDim, number(0), [&](Value c, Value partial) {
      return addProduct(partial, loadQuery(at(ofQuery, c)), host.k, c);
    });
    if (!host.qv)
      return sum;
    return reduce(valueHeadDim, sum, [&](Value c, Value partial) {
      Value x = widen(memref::LoadOp::create(b, host.qv, at(ofQuery, c)));
      return addProduct(partial, x, host.v, c);
    });
  };
  Value dot;
  if (!host.forward.hasPlace(Sequence::key)) {
    dot = multiply();
  } else {
    // A key outside of the array is one of zeros.
    memref::StoreOp::create(b, number(0), product);
    ifInside(Sequence::key, ofKey,
             [&] { memref::StoreOp::create(b, multiply(), product); });
    dot = memref::LoadOp::create(b, product);
  }
  if (isLow)
    dot = round(dot);
  else
    dot = arith::MulFOp::create(b, dot, scale);
  dot = applyScale(dot, 0, batch, h, i);
  return applyScale(dot, 1, batch, h, j);
}

Value ReferenceBuilder::buildVisible(Value batch, Value h, Value i, Value j) {
  ForwardOp forward = host.forward;
  Value keep;
  if (!forward.getMaskMod().empty())
    keep = inlineRegion(forward.getMaskMod(), {batch, h, i, j}).front();
  return buildListed(b, forward, i, j, keep,
                     [&](Region &region, Value block, Value t) {
                       return inlineRegion(region, {batch, h, block, t});
                     });
}

Value ReferenceBuilder::buildScoreMod(Value batch, Value h, Value keyHead,
                                      Value i, Value j) {
  auto edited = [&]() -> Value {
    Value score = buildDot(batch, h, keyHead, i, j);
    Region &region = host.forward.getScoreMod();
    if (region.empty())
      return score;
    if (!isLow)
      score = arith::TruncFOp::create(b, b.getF32Type(), score);
    return round(widen(inlineRegion(region, {score, batch, h, i, j}).front()));
  };
  Value keep = buildVisible(batch, h, i, j);
  if (!keep)
    return edited();
  auto branch = scf::IfOp::create(b, compute, keep, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value score = edited();
  scf::YieldOp::create(b, score);
  b.setInsertionPointToStart(branch.elseBlock());
  Value masked = number(-std::numeric_limits<double>::infinity());
  scf::YieldOp::create(b, masked);
  return branch.getResult(0);
}

Value ReferenceBuilder::dropWeight(Value weight, Value batch, Value h, Value i,
                                   Value j) {
  ForwardOp forward = host.forward;
  if (forward.getKeepMod().empty())
    return weight;
  auto scored = cast<ScoredOpInterface>(forward.getOperation());
  Value kept =
      arith::MulFOp::create(b, weight, number(scored.getFactorOfKept()));
  Value keep = inlineRegion(forward.getKeepMod(), {batch, h, i, j}).front();
  return arith::SelectOp::create(b, keep, kept, number(0));
}

void ReferenceBuilder::buildOutput(Value batch, Value h, Value keyHead, Value i,
                                   Value max) {
  // Without a value, the sink is in the sum of weights only.
  Value none = number(0);
  if (host.sinks)
    none = math::ExpOp::create(
        b, arith::SubFOp::create(b, loadSink(h), max).getResult());
  if (host.previousLse) {
    Value other = math::ExpOp::create(
        b, arith::SubFOp::create(b, loadPreviousLse(batch, h, i), max)
               .getResult());
    none = arith::AddFOp::create(b, none, other);
  }
  Value total = reduce(keys, none, [&](Value j, Value partial) {
    Value score = memref::LoadOp::create(b, row, j);
    Value shifted = arith::SubFOp::create(b, score, max);
    Value weight = math::ExpOp::create(b, shifted);
    memref::StoreOp::create(b, weight, row, j);
    return arith::AddFOp::create(b, partial, weight).getResult();
  });
  startSums(batch, h, i, max, total);
  loop(zero, keys, [&](Value j) {
    Value weight = memref::LoadOp::create(b, row, j);
    weight = arith::DivFOp::create(b, weight, total);
    weight = roundWeight(dropWeight(weight, batch, h, i, j));
    weight = applyScale(weight, 2, batch, h, j);
    SmallVector<Value> place = getPlace(Sequence::key, batch, keyHead, j);
    ifInside(Sequence::key, place, [&] {
      loop(zero, valueHeadDim, [&](Value c) {
        Value x = loadKey(host.v, host.valueScale, place, c,
                          host.forward.getValueHeadDim());
        Value product = arith::MulFOp::create(b, weight, x);
        Value partial = memref::LoadOp::create(b, sum, c);
        Value next = arith::AddFOp::create(b, partial, product);
        memref::StoreOp::create(b, next, sum, c);
      });
    });
  });
  loop(zero, valueHeadDim, [&](Value c) {
    Value x = memref::LoadOp::create(b, sum, c);
    storeOutput(x, batch, h, i, c);
  });
  if (host.lse) {
    Value log = math::LogOp::create(b, total);
    storeRounded(arith::AddFOp::create(b, max, log), host.lse,
                 getPlace(Sequence::query, batch, h, i));
  }
}

void ReferenceBuilder::storeOutput(Value x, Value batch, Value h, Value i,
                                   Value c) {
  SmallVector<Value> at = getPlace(Sequence::query, batch, h, i);
  at.push_back(c);
  if (host.plain)
    storeRounded(x, host.plain, at);
  storeRounded(editOutput(x, batch, h, i, c), host.o, at);
}

Value ReferenceBuilder::editOutput(Value x, Value batch, Value h, Value i,
                                   Value c) {
  Region &region = host.forward.getEpilogue();
  if (region.empty())
    return x;
  if (!x.getType().isF32())
    x = arith::TruncFOp::create(b, b.getF32Type(), x);
  Value edited = inlineRegion(region, {x, batch, h, i, c}).front();
  // The array may have a wider one.
  Type element =
      cast<RankedTensorType>(host.forward.getO().getType()).getElementType();
  if (element.getIntOrFloatBitWidth() > 8)
    return edited;
  // Larger numbers become the largest one.
  auto limit = [&](double value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  double largest = getLargestNumber(element);
  edited = arith::MinimumFOp::create(b, edited, limit(largest));
  return arith::MaximumFOp::create(b, edited, limit(-largest));
}

Value ReferenceBuilder::loadPreviousLse(Value batch, Value h, Value i) {
  SmallVector<Value> at = getPlace(Sequence::query, batch, h, i);
  return widen(memref::LoadOp::create(b, host.previousLse, at));
}

/// The sums of values start from what other keys have given.
void ReferenceBuilder::startSums(Value batch, Value h, Value i, Value max,
                                 Value total) {
  if (!host.previousO) {
    loop(zero, valueHeadDim,
         [&](Value c) { memref::StoreOp::create(b, number(0), sum, c); });
    return;
  }
  Value lse = loadPreviousLse(batch, h, i);
  Value weight =
      math::ExpOp::create(b, arith::SubFOp::create(b, lse, max).getResult());
  weight = arith::DivFOp::create(b, weight, total);
  Value isNone =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, lse,
                            number(-std::numeric_limits<double>::infinity()));
  loop(zero, valueHeadDim, [&](Value c) {
    SmallVector<Value> at = getPlace(Sequence::query, batch, h, i);
    at.push_back(c);
    Value x = widen(memref::LoadOp::create(b, host.previousO, at));
    Value product = arith::MulFOp::create(b, weight, x);
    Value first = arith::SelectOp::create(b, isNone, number(0), product);
    memref::StoreOp::create(b, first, sum, c);
  });
}

Value ReferenceBuilder::loadSink(Value h) {
  return widen(memref::LoadOp::create(b, host.sinks, h));
}

/// Of the scores in `row`; those that are NaN do not count.
void ReferenceBuilder::storeMaxLogit(Value batch, Value h, Value i) {
  Value lowest = number(-std::numeric_limits<double>::infinity());
  Value largest = reduce(keys, lowest, [&](Value j, Value max) {
    Value score = memref::LoadOp::create(b, row, j);
    return arith::MaxNumFOp::create(b, max, score).getResult();
  });
  storeRounded(largest, host.maxLogits, getPlace(Sequence::query, batch, h, i));
}

void ReferenceBuilder::buildRow(Value batch, Value h, Value keyHead, Value i) {
  Value lowest = number(-std::numeric_limits<double>::infinity());
  Value max = reduce(keys, lowest, [&](Value j, Value max) {
    Value score = buildScoreMod(batch, h, keyHead, i, j);
    memref::StoreOp::create(b, score, row, j);
    return arith::MaximumFOp::create(b, max, score).getResult();
  });
  if (host.maxLogits)
    storeMaxLogit(batch, h, i);
  if (host.sinks)
    max = arith::MaximumFOp::create(b, max, loadSink(h));
  if (host.previousLse)
    max = arith::MaximumFOp::create(b, max, loadPreviousLse(batch, h, i));
  // Without a visible key the softmax is 0 / 0; it is defined to be 0.
  Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, max, lowest);
  auto branch = scf::IfOp::create(b, TypeRange(), none,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  loop(zero, valueHeadDim,
       [&](Value c) { storeOutput(number(0), batch, h, i, c); });
  if (host.lse)
    storeRounded(lowest, host.lse, getPlace(Sequence::query, batch, h, i));
  b.setInsertionPointToStart(branch.elseBlock());
  buildOutput(batch, h, keyHead, i, max);
}

void ReferenceBuilder::buildHead(Value batch, Value h) {
  Value keyHead = arith::DivUIOp::create(b, h, group);
  setLengths(batch);
  auto rowType = MemRefType::get({ShapedType::kDynamic}, compute);
  row = memref::AllocOp::create(b, rowType, keys);
  loop(zero, rows, [&](Value i) {
    SmallVector<Value> place = getPlace(Sequence::query, batch, h, i);
    ifInside(Sequence::query, place, [&] { buildRow(batch, h, keyHead, i); });
  });
  memref::DeallocOp::create(b, row);
}

void ReferenceBuilder::buildScratch() {
  auto sumType = MemRefType::get({host.forward.getValueHeadDim()}, compute);
  sum = memref::AllocOp::create(b, sumType);
  if (host.forward.hasPlace(Sequence::key))
    product = memref::AllocOp::create(b, MemRefType::get({}, compute));
}

void ReferenceBuilder::freeScratch() {
  memref::DeallocOp::create(b, sum);
  if (product)
    memref::DeallocOp::create(b, product);
}

void ReferenceBuilder::buildAll() {
  buildScratch();
  loop(zero, host.batch, [&](Value batch) {
    loop(zero, host.heads, [&](Value h) { buildHead(batch, h); });
  });
  freeScratch();
}

Value ReferenceBuilder::buildSlice(Value first, Value last) {
  buildScratch();
  loop(first, last, [&](Value n) {
    Value batch = arith::DivUIOp::create(b, n, host.heads);
    Value h = arith::RemUIOp::create(b, n, host.heads);
    buildHead(batch, h);
  });
  freeScratch();
  return arith::MulIOp::create(b, host.batch, host.heads);
}

Value fa3::attention::buildForwardReference(
    HostFunction &host, Precision precision,
    std::optional<std::pair<Value, Value>> slice) {
  ReferenceBuilder builder(host, precision);
  if (slice)
    return builder.buildSlice(slice->first, slice->second);
  builder.buildAll();
  return Value();
}
