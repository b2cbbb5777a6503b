//===- UpdateReference.cpp - rotary and append by definition --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Row after row, as the text of the operations says: elements are turned in f32
// and put where the place is, if that is inside of the cache.
//
//===----------------------------------------------------------------------===//

#include "UpdateReference.h"
#include "QuantizeReference.h"
#include "ReferenceLoops.h"
#include "ReferenceRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa3::attention;

namespace {
class UpdateBuilder : ReferenceLoops {
public:
  UpdateBuilder(ImplicitLocOpBuilder &b, HostFunction &host,
                const HostUpdate &update)
      : ReferenceLoops(b.getLoc(), b), host(host), update(update) {}

  void build();

private:
  /// The position of a row: that of the first one and its number.
  Value getPosition(Value first, Value batch, Value row);
  /// Where a row goes, without the element; `isInside` says whether it does.
  SmallVector<Value> getPlace(Value batch, Value head, Value row,
                              Value &isInside);
  Value loadWide(Value memref, ValueRange at);
  /// An element of a row in units of its scale, in the format of the cache.
  Value scale(Value value, ArrayRef<Value> from);
  void storeRow(ArrayRef<Value> from, ArrayRef<Value> to);
  void storePairs(ArrayRef<Value> from, ArrayRef<Value> to);

  HostFunction &host;
  const HostUpdate &update;
};
} // namespace

static SmallVector<Value> with(ArrayRef<Value> place, Value element) {
  SmallVector<Value> at(place);
  at.push_back(element);
  return at;
}

Value UpdateBuilder::getPosition(Value first, Value batch, Value row) {
  Value number = memref::LoadOp::create(b, first, batch);
  return arith::AddIOp::create(
      b, arith::IndexCastOp::create(b, b.getIndexType(), number), row);
}

SmallVector<Value> UpdateBuilder::getPlace(Value batch, Value head, Value row,
                                           Value &isInside) {
  AppendOp op = update.append;
  Value key = getPosition(update.first, batch, row);
  isInside = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, key, zero);
  key = arith::MaxSIOp::create(b, key, zero);
  SmallVector<Value> place = {batch, head, key};
  if (Region *code = op.findPlace()) {
    Block &block = code->front();
    IRMapping mapping(host.values);
    mapping.map(block.getArguments(), place);
    for (auto [tensor, memref] : llvm::zip(op.getAux(), update.aux))
      mapping.map(tensor, memref);
    for (Operation &inner : block.without_terminator()) {
      if (auto dim = dyn_cast<tensor::DimOp>(inner))
        mapping.map(
            dim.getResult(),
            memref::DimOp::create(b, mapping.lookup(dim.getSource()),
                                  mapping.lookupOrDefault(dim.getIndex())));
      else if (auto extract = dyn_cast<tensor::ExtractOp>(inner))
        mapping.map(extract.getResult(), readElement(b, extract, mapping));
      else
        cloneScalar(b, inner, mapping);
    }
    place = llvm::map_to_vector(
        block.getTerminator()->getOperands(),
        [&](Value value) { return mapping.lookupOrDefault(value); });
  }
  for (auto [axis, number] : llvm::enumerate(place)) {
    Value extent =
        memref::DimOp::create(b, update.target, static_cast<int64_t>(axis));
    // What is below 0 is beyond every extent.
    Value fits =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, extent);
    isInside = arith::AndIOp::create(b, isInside, fits);
  }
  return place;
}

Value UpdateBuilder::loadWide(Value memref, ValueRange at) {
  Value value = memref::LoadOp::create(b, memref, at);
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(b, b.getF32Type(), value);
}

void UpdateBuilder::storePairs(ArrayRef<Value> from, ArrayRef<Value> to) {
  RotaryOp rotary = update.rotary;
  Value pairs = index(rotary.getPairs());
  Value angle = getPosition(update.angle, from[0], from[2]);
  Value last = arith::SubIOp::create(
      b, memref::DimOp::create(b, update.cos, int64_t(0)), one);
  angle =
      arith::MinSIOp::create(b, arith::MaxSIOp::create(b, angle, zero), last);
  loop(pairs, [&](Value pair) {
    Value first = pair, second;
    if (rotary.getInterleaved()) {
      first = arith::MulIOp::create(b, pair, index(2));
      second = arith::AddIOp::create(b, first, one);
    } else {
      second = arith::AddIOp::create(b, pair, pairs);
    }
    Value x = loadWide(update.source, with(from, first)),
          y = loadWide(update.source, with(from, second));
    Value cos = loadWide(update.cos, {angle, pair}),
          sin = loadWide(update.sin, {angle, pair});
    auto mul = [&](Value lhs, Value rhs) {
      return arith::MulFOp::create(b, lhs, rhs);
    };
    Value ySin = mul(y, sin), xCos = mul(x, cos);
    Value ofFirst = arith::SubFOp::create(b, xCos, ySin);
    Value xSin = mul(x, sin), yCos = mul(y, cos);
    Value turned[] = {ofFirst, arith::AddFOp::create(b, yCos, xSin)};
    Type element = cast<MemRefType>(update.target.getType()).getElementType();
    Value columns[] = {first, second};
    for (auto [value, at] : llvm::zip_equal(turned, columns))
      memref::StoreOp::create(b, arith::TruncFOp::create(b, element, value),
                              update.target, with(to, at));
  });
}

Value UpdateBuilder::scale(Value value, ArrayRef<Value> from) {
  auto type = cast<MemRefType>(update.scales.getType());
  Value at[] = {type.getDimSize(0) == 1 ? zero : from[0],
                type.getDimSize(1) == 1 ? zero : from[1], zero};
  Value unit = memref::LoadOp::create(b, update.scales, at);
  Value wide = arith::ExtFOp::create(b, b.getF32Type(), value);
  return encodeFloat8(
      b, arith::DivFOp::create(b, wide, unit),
      cast<MemRefType>(update.target.getType()).getElementType());
}

void UpdateBuilder::storeRow(ArrayRef<Value> from, ArrayRef<Value> to) {
  int64_t d = cast<MemRefType>(update.source.getType()).getShape().back();
  int64_t turned = 0;
  if (RotaryOp rotary = update.rotary) {
    storePairs(from, to);
    turned = 2 * rotary.getPairs();
  }
  loop(index(d - turned), [&](Value c) {
    c = arith::AddIOp::create(b, c, index(turned));
    Value value = memref::LoadOp::create(b, update.source, with(from, c));
    if (update.scales)
      value = scale(value, from);
    memref::StoreOp::create(b, value, update.target, with(to, c));
  });
}

void UpdateBuilder::build() {
  loop(update.batch, [&](Value batch) {
    loop(update.heads, [&](Value head) {
      loop(update.rows, [&](Value row) {
        Value from[] = {batch, head, row};
        if (!update.append)
          return storeRow(from, from);
        Value isInside;
        SmallVector<Value> to = getPlace(batch, head, row, isInside);
        auto branch = scf::IfOp::create(b, TypeRange(), isInside,
                                        /*withElseRegion=*/false);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(branch.thenBlock());
        storeRow(from, to);
      });
    });
  });
}

void fa3::attention::buildUpdateReference(ImplicitLocOpBuilder &b,
                                          HostFunction &host,
                                          const HostUpdate &update) {
  UpdateBuilder(b, host, update).build();
}
