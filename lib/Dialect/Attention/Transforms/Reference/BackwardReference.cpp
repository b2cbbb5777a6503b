//===- BackwardReference.cpp - gradients by definition --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The formula of attention.backward, one query after the other. The derivative
// of score code is a difference of its values, so that it checks what
// `score_grad` holds; at ties, jumps and in scores without digits for a
// difference it is what `score_grad` says.
//===----------------------------------------------------------------------===//

#include "BackwardReference.h"
#include "../Gradient/DeriveGradient.h"
#include "BackwardReferenceBuilder.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fa3::attention;

void BackwardReference::setLengths(Value batch) {
  lengths = {host.queries, host.keys};
  if (Region *region = op.findLengths()) {
    SmallVector<Value> said = inlineRegion(b, host, *region, batch);
    auto limit = [&](Value length, Sequence sequence, Value extent) -> Value {
      length = arith::MaxSIOp::create(b, length, zero);
      return op.hasPlace(sequence)
                 ? length
                 : arith::MinSIOp::create(b, length, extent).getResult();
    };
    lengths = {limit(said[0], Sequence::query, host.queries),
               limit(said[1], Sequence::key, host.keys)};
  }
  rows = lengths.queries;
  if (host.maxQ)
    rows = arith::MinSIOp::create(b, rows, host.maxQ);
}

SmallVector<Value> BackwardReference::getPlace(Sequence sequence, Value batch,
                                               Value h, Value row) {
  if (Region *region = op.findPlace(sequence))
    return inlineRegion(b, host, *region, {batch, h, row}, lengths);
  return {batch, h, row};
}

void BackwardReference::ifInside(Sequence sequence, ArrayRef<Value> place,
                                 function_ref<void()> body) {
  if (!op.hasPlace(sequence))
    return body();
  Value isInside =
      buildIsInside(b, sequence == Sequence::query ? host.q : host.k, place);
  auto branch = scf::IfOp::create(b, TypeRange(), isInside,
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
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
  return reduce(count, number(0), [&](Value c, Value sum) -> Value {
    Value ofX = load(x, append(atX, c)), ofY = load(y, append(atY, c));
    Value product = arith::MulFOp::create(b, ofX, ofY, anyOrder);
    return arith::AddFOp::create(b, sum, product, anyOrder);
  });
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

Value BackwardReference::getUnit(ArrayRef<unsigned> copies,
                                 ArrayRef<Value> place) {
  Value unit = number(1);
  if (!op.hasScales())
    return unit;
  for (unsigned copy : copies) {
    Value scales = host.scales[copy];
    auto share = [&](unsigned axis, Value count) -> Value {
      Value extent = memref::DimOp::create(b, scales, axis);
      return arith::DivUIOp::create(
          b, arith::MulIOp::create(b, place[axis], extent), count);
    };
    unit = mul(
        unit, load(scales, {share(0, host.batch), share(1, host.heads), zero}));
  }
  return unit;
}

BackwardReference::Score BackwardReference::buildScore(ArrayRef<Value> place,
                                                       ArrayRef<Value> ofQuery,
                                                       ArrayRef<Value> ofKey) {
  Value product = op.hasScales()
                      ? dot(headDim, host.q8, ofQuery, host.k8, ofKey)
                      : dot(headDim, host.q, ofQuery, host.k, ofKey);
  Value x = round(mul(product, mul(scale, getUnit({0, 1}, place))));
  if (op.getScoreMod().empty())
    return {x, x};
  // In f32, as in every implementation: large scores are rounded.
  SmallVector<Value> arguments = {convert(x, b.getF32Type())};
  llvm::append_range(arguments, place);
  Value value =
      inlineRegion(b, host, op.getScoreMod(), arguments, lengths).front();
  return {x, round(widen(value))};
}

BackwardReference::Derivatives
BackwardReference::buildDerivatives(Region &region, Region &rules,
                                    ArrayRef<AuxSum> sums, Value x,
                                    ValueRange place) {
  auto evaluate = [&](Value at, ReadShift shift = {}) {
    SmallVector<Value> arguments = {at};
    arguments.append(place.begin(), place.end());
    return inlineRegionWide(b, host, region, arguments, lengths, shift);
  };
  constexpr double kStep = 0x1p-17;
  Type f64 = b.getF64Type();
  auto wide = [&](double value) -> Value {
    return arith::ConstantOp::create(b, b.getFloatAttr(f64, value));
  };
  Value at = convert(x, f64), middle = evaluate(at);
  if (!middle)
    return {};
  // The derivatives by the rules, if there are any.
  SmallVector<Value> ruled;
  if (!rules.empty()) {
    Value dz = arith::ConstantOp::create(b, b.getF32FloatAttr(1));
    SmallVector<Value> arguments = {convert(x, b.getF32Type()), dz};
    arguments.append(place.begin(), place.end());
    ruled = inlineRegion(b, host, rules, arguments, lengths);
  }
  auto isBelow = [&](Value value, Value most) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OLE,
                                 math::AbsFOp::create(b, value), most);
  };
  constexpr double kMostScore = 0x1p20, kMostChange = 0x1p-6,
                   kMostSlope = 0x1p12;
  Value isSmall = isBelow(middle, wide(kMostScore));
  // A central difference errs by its step squared, and by rounding over it.
  // Where the two sides differ (a tie, whose derivative is a convention), or
  // where the score has no digits for the step, the rules decide.
  auto differ = [&](Value above, Value below, unsigned number) -> Value {
    Value right = sub(above, middle), left = sub(middle, below);
    Value half = wide(0.5 / kStep);
    Value central = mul(add(right, left), half);
    if (ruled.empty())
      return convert(central, compute);
    Value change = wide(kMostChange), ofLeft = math::AbsFOp::create(b, left);
    Value most = mul(add(math::AbsFOp::create(b, right), ofLeft), change);
    most = add(most, wide(kStep * kMostChange));
    Value isSmooth =
        arith::AndIOp::create(b, isSmall, isBelow(sub(right, left), most));
    // A jump has equal sides where it is in the middle.
    isSmooth = arith::AndIOp::create(b, isSmooth,
                                     isBelow(right, wide(kStep * kMostSlope)));
    Value rule = convert(ruled[number], f64);
    return convert(arith::SelectOp::create(b, isSmooth, central, rule),
                   compute);
  };
  Derivatives derivatives;
  Value below = evaluate(sub(at, wide(kStep)));
  derivatives.ofProduct = differ(evaluate(add(at, wide(kStep))), below, 0);
  for (const AuxSum &sum : sums) {
    below = evaluate(at, {sum.tensor, wide(-kStep)});
    derivatives.ofAux.push_back(differ(evaluate(at, {sum.tensor, wide(kStep)}),
                                       below, 1 + derivatives.ofAux.size()));
  }
  return derivatives;
}

void BackwardReference::editGradient(ValueRange place, ArrayRef<Value> at) {
  auto store = [&](Value value, const AuxSum &sum, Value column) {
    Type element = cast<MemRefType>(sum.target.getType()).getElementType();
    value = convert(convert(value, b.getF32Type()), element);
    // Where places say it, there may be no batch.
    memref::StoreOp::create(
        b, value, sum.target,
        getAuxIndices(sum.place, at.front(), place[1], at.back(), column));
  };
  for (const AuxSum &sum : edits)
    memref::StoreOp::create(b, number(0), sum.sums, zero);
  loop(zero, valueHeadDim, [&](Value c) {
    Derivatives derivatives =
        buildDerivatives(op.getEpilogue(), op.getEpilogueGradRegion(), edits,
                         load(host.o, append(at, c)), append(place, c));
    if (!derivatives.ofProduct) {
      hasFailed = true;
      return;
    }
    Value given = load(host.outGrad, append(at, c));
    memref::StoreOp::create(b, round(mul(given, derivatives.ofProduct)),
                            outGrad, ValueRange{zero, c});
    for (auto [sum, derivative] : llvm::zip_equal(edits, derivatives.ofAux)) {
      Value gradient = mul(given, derivative);
      if (sum.place.has(AuxIndex::Column)) {
        store(gradient, sum, c);
        continue;
      }
      Value before = memref::LoadOp::create(b, sum.sums, zero);
      memref::StoreOp::create(b, add(before, gradient), sum.sums, zero);
    }
  });
  for (const AuxSum &sum : edits)
    if (!sum.place.has(AuxIndex::Column))
      store(memref::LoadOp::create(b, sum.sums, zero), sum, Value());
}

void BackwardReference::buildPair(ArrayRef<Value> place,
                                  ArrayRef<Value> ofQuery,
                                  ArrayRef<Value> ofKey, Value lse, Value rest,
                                  Value delta) {
  Score score = buildScore(place, ofQuery, ofKey);
  Value exponent = sub(score.value, lse);
  if (rest)
    exponent = sub(exponent, rest);
  Value weight = round(math::ExpOp::create(b, exponent));
  Value ofWeight =
      op.hasScales() ? dot(valueHeadDim, host.outGrad8, ofQuery, host.v8, ofKey)
                     : dot(valueHeadDim, outGrad, atGrad, host.v, ofKey);
  ofWeight = round(mul(ofWeight, getUnit({3, 2}, place)));
  Value kept = weight;
  if (!op.getKeepMod().empty()) {
    auto scored = cast<ScoredOpInterface>(op.getOperation());
    Value keep = inlineRegion(b, host, op.getKeepMod(), place, lengths).front();
    auto drop = [&](Value value) -> Value {
      Value scaled = mul(value, number(scored.getFactorOfKept()));
      return arith::SelectOp::create(b, keep, scaled, number(0));
    };
    ofWeight = drop(ofWeight);
    kept = round(drop(weight));
  }
  Value gradient = round(mul(weight, sub(ofWeight, delta)));
  if (!op.getScoreMod().empty()) {
    Derivatives derivatives = buildDerivatives(
        op.getScoreMod(), op.getScoreGradRegion(), aux, score.product, place);
    if (!derivatives.ofProduct) {
      hasFailed = true;
      return;
    }
    // What weighs nothing has no gradient, whatever the derivative is.
    Value none = isEqual(weight, number(0));
    auto multiply = [&](Value derivative) -> Value {
      Value product = round(mul(gradient, derivative));
      return arith::SelectOp::create(b, none, number(0), product);
    };
    addToAux(llvm::map_to_vector(derivatives.ofAux, multiply), place[0],
             place[1], place[2], place[3]);
    gradient = multiply(derivatives.ofProduct);
  }
  Value j = place[3];
  addScaled(valueHeadDim, dv, j, kept, outGrad, atGrad);
  addScaled(headDim, dk, j, gradient, host.q, ofQuery);
  addScaled(headDim, dq, zero, gradient, host.k, ofKey);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void BackwardReference::forVisible(
    Value batch, Value h, Value keyHead, Value i,
    function_ref<void(Value, ArrayRef<Value>)> body) {
  loop(zero, lengths.keys, [&](Value j) {
    SmallVector<Value> ofKey = getPlace(Sequence::key, batch, keyHead, j);
    // A key outside of the array is one of zeros, and gives dq nothing.
    auto buildVisible = [&]() {
      ifInside(Sequence::key, ofKey, [&]() { body(j, ofKey); });
    };
    Value keep;
    if (!op.getMaskMod().empty())
      keep = inlineRegion(b, host, op.getMaskMod(), {batch, h, i, j}, lengths)
                 .front();
    keep = buildListed(b, op, i, j, keep,
                       [&](Region &region, Value block, Value entry) {
                         return inlineRegion(b, host, region,
                                             {batch, h, block, entry}, lengths);
                       });
    if (!keep)
      return buildVisible();
    auto branch = scf::IfOp::create(b, TypeRange(), keep,
                                    /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    buildVisible();
  });
}

Value BackwardReference::buildRest(Value batch, Value h, Value keyHead, Value i,
                                   ArrayRef<Value> at, Value lse) {
  // An lse of f32 has digits enough below. Above, weights that it gives sum up
  // to something else than 1 by its rounding; what is more than that is a term
  // of other calls, or a sink. It is the rule of attention-to-tile.
  constexpr double kLarge = 0x1p12, kRounding = 0x1p-22;
  Value size = math::AbsFOp::create(b, lse);
  Value isLarge =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, size, number(kLarge));
  auto branch = scf::IfOp::create(b, compute, isLarge, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, number(0));
  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> only = {zero, zero};
  memref::StoreOp::create(b, number(0), total, only);
  forVisible(batch, h, keyHead, i, [&](Value j, ArrayRef<Value> ofKey) {
    Value score = buildScore({batch, h, i, j}, at, ofKey).value;
    Value weight = math::ExpOp::create(b, sub(score, lse));
    Value before = memref::LoadOp::create(b, total, only);
    memref::StoreOp::create(b, add(before, weight), total, only);
  });
  Value rest = math::LogOp::create(b, memref::LoadOp::create(b, total, only));
  Value limit = mul(size, number(kRounding));
  Value isRounding = arith::CmpFOp::create(
      b, arith::CmpFPredicate::OLE, math::AbsFOp::create(b, rest), limit);
  rest = arith::SelectOp::create(b, isRounding, rest, number(0));
  scf::YieldOp::create(b, rest);
  return branch.getResult(0);
}

void BackwardReference::buildRow(Value batch, Value h, Value keyHead, Value i,
                                 ArrayRef<Value> at) {
  atGrad = llvm::to_vector(at);
  if (!op.getEpilogue().empty()) {
    atGrad = {zero};
    editGradient({batch, h, i}, at);
  }
  Value delta = dot(valueHeadDim, outGrad, atGrad, host.o, at);
  if (host.lseGrad)
    delta = sub(delta, load(host.lseGrad, at));
  // Of a query that sees no key it is -inf, and every weight is 0.
  Value lowest = number(-std::numeric_limits<double>::infinity());
  Value lse = load(host.lse, at);
  lse = arith::SelectOp::create(b, isEqual(lse, lowest), number(0), lse);
  Value rest;
  if (!op.getScoreMod().empty())
    rest = buildRest(batch, h, keyHead, i, at, lse);
  fillZero(dq, one, headDim);
  forVisible(batch, h, keyHead, i, [&](Value j, ArrayRef<Value> ofKey) {
    buildPair({batch, h, i, j}, at, ofKey, lse, rest, delta);
  });
  storeRow(headDim, dq, zero, scale, host.dq, at);
}

void BackwardReference::buildGroup(Value batch, Value keyHead) {
  setLengths(batch);
  auto allocate = [&](int64_t columns) {
    return memref::AllocOp::create(
        b, MemRefType::get({ShapedType::kDynamic, columns}, compute),
        lengths.keys);
  };
  dk = allocate(op.getHeadDim());
  dv = allocate(op.getValueHeadDim());
  fillZero(dk, lengths.keys, headDim);
  fillZero(dv, lengths.keys, valueHeadDim);
  firstHead = arith::MulIOp::create(b, keyHead, group);
  if (ofGroups)
    clearAux();
  loop(zero, group, [&](Value n) {
    Value h = arith::AddIOp::create(b, firstHead, n);
    loop(zero, rows, [&](Value i) {
      SmallVector<Value> at = getPlace(Sequence::query, batch, h, i);
      ifInside(Sequence::query, at,
               [&]() { buildRow(batch, h, keyHead, i, at); });
    });
  });
  loop(zero, lengths.keys, [&](Value j) {
    SmallVector<Value> at = getPlace(Sequence::key, batch, keyHead, j);
    ifInside(Sequence::key, at, [&]() {
      storeRow(headDim, dk, j, scale, host.dk, at);
      storeRow(valueHeadDim, dv, j, number(1), host.dv, at);
    });
  });
  if (ofGroups)
    storeAux(batch, firstHead);
  for (Value array : {dk, dv})
    memref::DeallocOp::create(b, array);
}

Value BackwardReference::build(std::optional<std::pair<Value, Value>> slice) {
  dq = memref::AllocOp::create(b,
                               MemRefType::get({1, op.getHeadDim()}, compute));
  total = memref::AllocOp::create(b, MemRefType::get({1, 1}, compute));
  outGrad = host.outGrad;
  if (!op.getEpilogue().empty())
    outGrad = memref::AllocOp::create(
        b, MemRefType::get({1, op.getValueHeadDim()}, compute));
  allocateAux();
  Value count = arith::MulIOp::create(b, host.batch, host.keyHeads);
  auto buildGroups = [&](Value first, Value last) {
    loop(first, last, [&](Value n) {
      Value batch = arith::DivUIOp::create(b, n, host.keyHeads);
      buildGroup(batch, arith::RemUIOp::create(b, n, host.keyHeads));
    });
  };
  if (ofGroups) {
    auto [first, last] = slice.value_or(std::pair(zero, count));
    buildGroups(first, last);
  } else {
    // What groups share is summed up by one.
    auto [first, last] = slice.value_or(std::pair(zero, one));
    loop(first, last, [&](Value) {
      clearAux();
      buildGroups(zero, count);
      storeAux(Value(), Value());
    });
    count = one;
  }
  memref::DeallocOp::create(b, dq);
  memref::DeallocOp::create(b, total);
  if (outGrad != host.outGrad)
    memref::DeallocOp::create(b, outGrad);
  for (ArrayRef<AuxSum> sums : {ArrayRef(aux), ArrayRef(edits)})
    for (const AuxSum &sum : sums)
      memref::DeallocOp::create(b, sum.sums);
  return hasFailed ? Value() : count;
}

Value fa3::attention::buildBackwardReference(
    HostFunction &host, Precision precision,
    std::optional<std::pair<Value, Value>> slice) {
  BackwardOp op = host.backward;
  // Without rules differences decide everywhere.
  ScopedDiagnosticHandler quiet(op.getContext(),
                                [](Diagnostic &) { return success(); });
  if (!op.getScoreMod().empty() && op.getScoreGradRegion().empty())
    (void)deriveScoreGradient(op);
  if (!op.getEpilogue().empty() && op.getEpilogueGradRegion().empty())
    (void)deriveEpilogueGradient(op);
  return BackwardReference(host, precision).build(slice);
}
