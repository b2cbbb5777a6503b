//===- BackwardReference.cpp - gradients by definition --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The formula of attention.backward, one query after the other. The derivative
// of score code is a difference of its values, so that it checks what
// `score_grad` holds.
//===----------------------------------------------------------------------===//

#include "BackwardReference.h"
#include "ReferenceRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3::attention;

namespace {
class BackwardReference {
public:
  BackwardReference(HostFunction &host, Precision precision)
      : host(host), op(host.backward), b(op.getLoc(), host.getBuilder()),
        isLow(precision == Precision::low) {
    compute = isLow ? b.getF32Type() : b.getF64Type();
    zero = arith::ConstantIndexOp::create(b, 0);
    one = arith::ConstantIndexOp::create(b, 1);
    headDim = arith::ConstantIndexOp::create(b, op.getHeadDim());
    valueHeadDim = arith::ConstantIndexOp::create(b, op.getValueHeadDim());
    group = arith::DivUIOp::create(b, host.heads, host.keyHeads);
    scale = widen(host.scale);
  }

  Value build(std::optional<std::pair<Value, Value>> slice);

private:
  using Body = function_ref<void(Value)>;

  void loop(Value begin, Value end, Body body);
  /// The sum of products of `count` elements of two rows.
  Value dot(Value count, Value x, ValueRange atX, Value y, ValueRange atY);
  /// target[at, c] += factor * source[from, c].
  void addScaled(Value count, Value target, Value at, Value factor,
                 Value source, ValueRange from);
  void fillZero(Value array, Value rows, Value columns);
  /// Stores `factor` times a row of sums.
  void storeRow(Value count, Value sums, Value at, Value factor, Value target,
                ValueRange to);

  void buildGroup(Value batch, Value keyHead);
  void buildRow(Value batch, Value h, Value keyHead, Value i);
  void buildPair(Value batch, Value h, Value keyHead, Value i, Value j,
                 Value shift, Value delta);
  /// The score that code makes of x, and its derivative; null without code.
  std::pair<Value, Value> buildScoreMod(Value x, ValueRange place);

  Value number(double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(compute, value));
  }
  Value load(Value memref, ValueRange at) {
    return widen(memref::LoadOp::create(b, memref, at));
  }
  Value widen(Value value) { return convert(value, compute); }
  Value convert(Value value, Type type) {
    unsigned from = value.getType().getIntOrFloatBitWidth(),
             to = type.getIntOrFloatBitWidth();
    if (from < to)
      return arith::ExtFOp::create(b, type, value);
    return from > to ? arith::TruncFOp::create(b, type, value).getResult()
                     : value;
  }
  /// To the element type and back where the precision asks for it.
  Value round(Value value) {
    return isLow ? widen(convert(value, op.getElementType())) : value;
  }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value isEqual(Value x, Value y) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, y);
  }

  HostFunction &host;
  BackwardOp op;
  ImplicitLocOpBuilder b;
  bool isLow, hasFailed = false;
  Type compute;
  Value zero, one, headDim, valueHeadDim, group, scale;
  Value dq, dk, dv; ///< sums of one query and of the keys of one head
};
} // namespace

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

void BackwardReference::loop(Value begin, Value end, Body body) {
  auto loop = scf::ForOp::create(b, begin, end, one);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

static SmallVector<Value> append(ValueRange at, Value last) {
  SmallVector<Value> place(at);
  place.push_back(last);
  return place;
}

Value BackwardReference::dot(Value count, Value x, ValueRange atX, Value y,
                             ValueRange atY) {
  // The order of a sum of products is free; the loop may be vectorized.
  auto anyOrder = arith::FastMathFlagsAttr::get(
      b.getContext(),
      arith::FastMathFlags::reassoc | arith::FastMathFlags::contract);
  auto loop = scf::ForOp::create(b, zero, count, one, number(0));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value c = loop.getInductionVar();
  Value product = arith::MulFOp::create(b, load(x, append(atX, c)),
                                        load(y, append(atY, c)), anyOrder);
  Value sum =
      arith::AddFOp::create(b, loop.getRegionIterArg(0), product, anyOrder);
  scf::YieldOp::create(b, sum);
  return loop.getResult(0);
}

void BackwardReference::addScaled(Value count, Value target, Value at,
                                  Value factor, Value source, ValueRange from) {
  loop(zero, count, [&](Value c) {
    Value sum = memref::LoadOp::create(b, target, ValueRange{at, c});
    Value product = mul(factor, load(source, append(from, c)));
    memref::StoreOp::create(b, add(sum, product), target, ValueRange{at, c});
  });
}

void BackwardReference::fillZero(Value array, Value rows, Value columns) {
  loop(zero, rows, [&](Value i) {
    loop(zero, columns, [&](Value c) {
      memref::StoreOp::create(b, number(0), array, ValueRange{i, c});
    });
  });
}

void BackwardReference::storeRow(Value count, Value sums, Value at,
                                 Value factor, Value target, ValueRange to) {
  Type element = cast<MemRefType>(target.getType()).getElementType();
  loop(zero, count, [&](Value c) {
    Value sum = memref::LoadOp::create(b, sums, ValueRange{at, c});
    // Through f32, the type of sums in every implementation.
    Value value = convert(mul(sum, factor), b.getF32Type());
    memref::StoreOp::create(b, convert(value, element), target, append(to, c));
  });
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

std::pair<Value, Value> BackwardReference::buildScoreMod(Value x,
                                                         ValueRange place) {
  Region &region = op.getScoreMod();
  auto evaluate = [&](Value at) {
    SmallVector<Value> arguments = {at};
    arguments.append(place.begin(), place.end());
    return inlineRegionWide(b, host, region, arguments);
  };
  // A central difference errs by its step squared, and by rounding over it.
  constexpr double kStep = 0x1p-17;
  Type f64 = b.getF64Type();
  auto wide = [&](double value) -> Value {
    return arith::ConstantOp::create(b, b.getFloatAttr(f64, value));
  };
  Value at = convert(x, f64);
  Value value = evaluate(at);
  Value above = evaluate(add(at, wide(kStep)));
  Value below = evaluate(sub(at, wide(kStep)));
  if (!value || !above || !below)
    return {};
  Value derivative = mul(sub(above, below), wide(0.5 / kStep));
  return {round(convert(value, compute)), convert(derivative, compute)};
}

void BackwardReference::buildPair(Value batch, Value h, Value keyHead, Value i,
                                  Value j, Value shift, Value delta) {
  Value ofQuery[] = {batch, h, i}, ofKey[] = {batch, keyHead, j};
  Value x = round(mul(dot(headDim, host.q, ofQuery, host.k, ofKey), scale));
  Value score = x, derivative;
  if (!op.getScoreMod().empty()) {
    std::tie(score, derivative) = buildScoreMod(x, {batch, h, i, j});
    if (!score) {
      hasFailed = true;
      return;
    }
  }
  Value weight = round(math::ExpOp::create(b, sub(score, shift)));
  Value ofWeight =
      round(dot(valueHeadDim, host.outGrad, ofQuery, host.v, ofKey));
  Value gradient = round(mul(weight, sub(ofWeight, delta)));
  if (derivative) {
    // What weighs nothing has no gradient, whatever the derivative is.
    Value none = isEqual(weight, number(0));
    gradient = arith::SelectOp::create(b, none, number(0),
                                       round(mul(gradient, derivative)));
  }
  addScaled(valueHeadDim, dv, j, weight, host.outGrad, ofQuery);
  addScaled(headDim, dk, j, gradient, host.q, ofQuery);
  addScaled(headDim, dq, zero, gradient, host.k, ofKey);
}

void BackwardReference::buildRow(Value batch, Value h, Value keyHead, Value i) {
  Value at[] = {batch, h, i};
  Value delta = dot(valueHeadDim, host.outGrad, at, host.o, at);
  if (host.lseGrad)
    delta = sub(delta, load(host.lseGrad, at));
  // Of a query that sees no key it is -inf, and every weight is 0.
  Value lowest = number(-std::numeric_limits<double>::infinity());
  Value lse = load(host.lse, at);
  Value shift =
      arith::SelectOp::create(b, isEqual(lse, lowest), number(0), lse);
  fillZero(dq, one, headDim);
  loop(zero, host.keys, [&](Value j) {
    if (op.getMaskMod().empty())
      return buildPair(batch, h, keyHead, i, j, shift, delta);
    Value keep = inlineRegion(b, host, op.getMaskMod(), {batch, h, i, j});
    auto branch = scf::IfOp::create(b, TypeRange(), keep,
                                    /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    buildPair(batch, h, keyHead, i, j, shift, delta);
  });
  storeRow(headDim, dq, zero, scale, host.dq, at);
}

void BackwardReference::buildGroup(Value batch, Value keyHead) {
  fillZero(dk, host.keys, headDim);
  fillZero(dv, host.keys, valueHeadDim);
  Value first = arith::MulIOp::create(b, keyHead, group);
  loop(zero, group, [&](Value n) {
    Value h = arith::AddIOp::create(b, first, n);
    loop(zero, host.queries, [&](Value i) { buildRow(batch, h, keyHead, i); });
  });
  loop(zero, host.keys, [&](Value j) {
    Value at[] = {batch, keyHead, j};
    storeRow(headDim, dk, j, scale, host.dk, at);
    storeRow(valueHeadDim, dv, j, number(1), host.dv, at);
  });
}

Value BackwardReference::build(std::optional<std::pair<Value, Value>> slice) {
  auto allocate = [&](int64_t rows, int64_t columns) {
    return memref::AllocOp::create(
        b, MemRefType::get({rows, columns}, compute),
        ShapedType::isDynamic(rows) ? ValueRange(host.keys) : ValueRange());
  };
  dq = allocate(1, op.getHeadDim());
  dk = allocate(ShapedType::kDynamic, op.getHeadDim());
  dv = allocate(ShapedType::kDynamic, op.getValueHeadDim());
  Value count = arith::MulIOp::create(b, host.batch, host.keyHeads);
  auto [first, last] = slice.value_or(std::pair(zero, count));
  loop(first, last, [&](Value n) {
    Value batch = arith::DivUIOp::create(b, n, host.keyHeads);
    buildGroup(batch, arith::RemUIOp::create(b, n, host.keyHeads));
  });
  for (Value array : {dq, dk, dv})
    memref::DeallocOp::create(b, array);
  return hasFailed ? Value() : count;
}

Value fa3::attention::buildBackwardReference(
    HostFunction &host, Precision precision,
    std::optional<std::pair<Value, Value>> slice) {
  return BackwardReference(host, precision).build(slice);
}
