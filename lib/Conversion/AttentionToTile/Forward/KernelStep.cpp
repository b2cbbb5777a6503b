//===- KernelStep.cpp - one block of keys, and the end of a tile ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Plan/ScoreRange.h"
#include "KernelBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa3;

using Expander = ScalarRegionExpander;

std::pair<Value, double> KernelBuilder::getYieldedFactor(Region &region) {
  constexpr double kLeast = 0x1p-20, kMost = 0x1p20;
  Value yielded =
      cast<attention::YieldOp>(region.front().getTerminator()).getValue();
  auto product = yielded.getDefiningOp<arith::MulFOp>();
  if (!product || product->getBlock() != &region.front() ||
      !bitEnumContainsAll(product.getFastmath(), arith::FastMathFlags::reassoc))
    return {yielded, 1};
  for (auto [value, factor] : {std::pair(product.getLhs(), product.getRhs()),
                               std::pair(product.getRhs(), product.getLhs())}) {
    FloatAttr constant;
    if (matchPattern(factor, m_Constant(&constant)) &&
        constant.getValueAsDouble() >= kLeast &&
        constant.getValueAsDouble() <= kMost)
      return {value, constant.getValueAsDouble()};
  }
  return {yielded, 1};
}

LogicalResult KernelBuilder::chooseSharedReference() {
  auto element = cast<FloatType>(op.getValueElementType());
  if (APFloat::semanticsMaxExponent(element.getFloatSemantics()) <
      APFloat::semanticsMaxExponent(APFloat::IEEEsingle()))
    return op.emitOpError("is not to be rescaled: expects weights with the "
                          "exponents of f32, got ")
           << element;
  ScoreRange range;
  if (!op.getScoreMod().empty())
    range = getScoreRange(
        cast<attention::YieldOp>(op.getScoreMod().front().getTerminator())
            .getValue());
  sharedReference = getSharedReference(range, llvm::numbers::log2e);
  if (!sharedReference)
    return op.emitOpError("is not to be rescaled: expects scores with bounds "
                          "at most ")
           << kWidestScores << " apart, got " << range.low << " to "
           << range.high;
  return success();
}

Value KernelBuilder::buildScores(ValueRange query, Value key, Value value) {
  RankedTensorType type = tensor({rows, columns}, b.getF32Type());
  bool isInteger = !isa<FloatType>(op.getElementType());
  RankedTensorType sumType =
      isInteger ? tensor(type.getShape(), b.getI32Type()) : type;
  auto zero = DenseElementsAttr::get(
      sumType, cast<TypedAttr>(b.getZeroAttr(sumType.getElementType())));
  Value sums = arith::ConstantOp::create(b, zero);
  auto multiply = [&](Value rows, Value with) {
    sums = tile::DotOp::create(b, sumType, rows, with, sums, tile::LhsOrder::mk,
                               tile::RhsOrder::nk);
  };
  for (Value term : op.getQv() ? query.drop_back() : query)
    multiply(term, key);
  if (op.getQv())
    multiply(query.back(), value);
  // At most 256 * 2^14: exact in f32.
  return isInteger ? arith::SIToFPOp::create(b, type, sums) : sums;
}

FailureOr<KernelBuilder::State>
KernelBuilder::buildStep(ValueRange query, Value key, Value value,
                         Value firstKey, Expander::Entry keep,
                         Expander &expander, State state) {
  RankedTensorType scoreType = tensor({rows, columns}, b.getF32Type());
  Value scores = buildScores(query, key, value);
  bool hasScoreCode = !op.getScoreMod().empty();
  // Scales of this tile: of its keys, and the base-2 logarithm of its values'.
  Value exponentFactor = exponentScale, scoreFactor = scoreScale, valueScale,
        valueExponent;
  if (op.hasScales() && op.getScaleRows(1) != 0) {
    FailureOr<Value> scale = loadScale(1, firstKey, columns);
    if (failed(scale))
      return failure();
    Value &factor = hasScoreCode ? scoreFactor : exponentFactor;
    if (op.getScaleRows(1) == 1)
      scores = mul(scores, tile::BroadcastOp::create(b, scoreType, *scale, 0));
    else
      factor = mulFactors(factor, *scale);
  }
  if (op.hasScales() && op.getScaleRows(2) != 0) {
    FailureOr<Value> scale = loadScale(2, firstKey, columns);
    if (failed(scale))
      return failure();
    valueScale = *scale;
    valueExponent = math::Log2Op::create(b, valueScale, approximate());
  }
  Value weightFactor;
  if (op.hasNibbles()) {
    SmallVector<Value> places = getKeyPlaces(firstKey);
    scores = mul(scores, loadKeyScales(operands.keyScale, places, firstKey));
    weightFactor = loadKeyScales(operands.valueScale, places, firstKey);
  }
  if (hasScoreCode) {
    Value scaled =
        arith::MulFOp::create(b, scores, asScores(scoreFactor), reassociate());
    expander.bind(op.getScoreMod().getArgument(0), {scaled, Expander::Both});
    expander.expandOperations(op.getScoreMod());
    Value edited =
        isLarge
            ? cast<attention::YieldOp>(op.getScoreMod().front().getTerminator())
                  .getValue()
            : getYieldedFactor(op.getScoreMod()).first;
    scores = expander.lift(b.getLoc(), expander.get(edited), Expander::Both);
  }
  scores = arith::SelectOp::create(
      b, keep.value, scores,
      splat(scoreType, -std::numeric_limits<double>::infinity()));

  Value blockMaximum, parts, largest;
  if (state.largest)
    parts = tile::ReduceOp::create(b, state.largest.getType(),
                                   tile::ReduceKind::max, scores, Value(), 1,
                                   b.getI64IntegerAttr(kPartialSums));
  if (!sharedReference)
    blockMaximum = tile::ReduceOp::create(b, rowType(), tile::ReduceKind::max,
                                          parts ? parts : scores, Value(), 1,
                                          IntegerAttr());
  // Here the parts of the step are not kept beside those of all steps.
  if (state.largest)
    largest = addLargest(state.largest, parts, exponentFactor);
  Weighting weighting =
      sharedReference
          ? Weighting{state.maximum, Value(),
                      splat(rowType(), -*sharedReference)}
          : buildReference(blockMaximum, exponentFactor, valueExponent, state);
  Value weights = exp2(buildExponents(scores, exponentFactor, weighting));
  Value sums = tile::ReduceOp::create(b, state.sums.getType(),
                                      tile::ReduceKind::add, weights, Value(),
                                      1, b.getI64IntegerAttr(kPartialSums));
  // Before the branch around the rescaling, so that conversions can fill the
  // gaps between exponentials.
  Value kept = dropWeights(weights, expander);
  if (weightFactor)
    kept = mul(kept, weightFactor);
  Value converted = arith::TruncFOp::create(
      b, tensor({rows, columns}, op.getValueElementType()), kept);

  State next = accumulate(state, weighting.maximum, weighting.grown, converted,
                          value, sums, valueScale);
  next.largest = largest;
  return next;
}

Value KernelBuilder::dropWeights(Value weights, Expander &expander) {
  if (op.getKeepMod().empty())
    return weights;
  Value keep = expander.lift(b.getLoc(), expander.expand(op.getKeepMod()),
                             Expander::Both);
  return arith::SelectOp::create(b, keep, weights,
                                 splat(weights.getType(), 0.0));
}

/// exp2(scale * score - reference) is a weight, times its own factor.
Value KernelBuilder::buildExponents(Value scores, Value factor,
                                    const Weighting &weighting) {
  if (!isLarge) {
    Value shift = alongColumns(weighting.shift, columns);
    return math::FmaOp::create(b, scores, asScores(factor), shift,
                               reassociate());
  }
  // The difference is a number for all finite scores, or -inf. No flag lets
  // the score's terms be joined to what comes behind.
  Value difference = arith::SubFOp::create(
      b, scores, alongColumns(weighting.maximum, columns));
  if (weightExponent == 0)
    return asExponent(difference);
  Value exponent = splat(scores.getType(), weightExponent);
  return math::FmaOp::create(b, difference, asScores(factor), exponent);
}

KernelBuilder::Weighting KernelBuilder::buildReference(Value blockMaximum,
                                                       Value exponentFactor,
                                                       Value valueExponent,
                                                       State state) {
  if (valueExponent) {
    Value ofValues = scalarTile(valueExponent, rowType());
    blockMaximum =
        math::FmaOp::create(b, blockMaximum, asRows(exponentFactor), ofValues);
  } else if (!isLarge) {
    blockMaximum = mul(blockMaximum, asRows(exponentFactor));
  }
  Value maximum, grown;
  if (policy.lazy && !isFirst) {
    Value threshold = splat(rowType(), policy.threshold);
    grown = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                  asExponent(sub(blockMaximum, state.maximum)),
                                  threshold);
    maximum = arith::SelectOp::create(b, grown, blockMaximum, state.maximum);
  } else {
    maximum = arith::MaxNumFOp::create(b, blockMaximum, state.maximum);
  }
  if (isLarge)
    return {maximum, grown, Value()};
  Value shift = arith::NegFOp::create(b, maximum);
  if (valueExponent)
    shift = arith::AddFOp::create(
        b, shift, scalarTile(valueExponent, rowType()), contract());
  if (weightExponent != 0)
    shift = arith::AddFOp::create(b, shift, splat(rowType(), weightExponent),
                                  contract());
  return {maximum, grown, shift};
}

/// Adds the products of the steps before to the output, where as many have come
/// together; the next ones start from zero.
KernelBuilder::State KernelBuilder::addProducts(State state) {
  Value rest = arith::RemUIOp::create(b, iteration, index(policy.stepsBetween));
  Value isFull =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, index(0));
  Value old[] = {state.acc, state.products};
  auto where = tile::WhereOp::create(
      b, TypeRange(ValueRange(old)),
      scalarTile(isFull, tensor({rows}, b.getI1Type())), old);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&where.getBody().emplaceBlock());
  Value sum = arith::AddFOp::create(b, state.acc, state.products);
  tile::YieldOp::create(b, ValueRange{sum, splat(state.acc.getType(), 0.0)});
  state.acc = where.getResult(0);
  state.products = where.getResult(1);
  return state;
}

/// Adds the product of a step's weights and values, and the weights' sums, to
/// what is carried, which is first referred to the new maximum.
KernelBuilder::State KernelBuilder::accumulate(State state, Value maximum,
                                               Value grown, Value weights,
                                               Value values, Value sums,
                                               Value valueScale) {
  auto sumsType = cast<RankedTensorType>(state.sums.getType());
  if (valueScale) {
    // The weights hold the scale of the values, the sums must not.
    Value inverse = arith::DivFOp::create(b, f32(1), valueScale);
    sums = mul(sums, scalarTile(inverse, sumsType));
  }
  auto multiply = [&](Value init) -> Value {
    return tile::DotOp::create(
        b, state.acc.getType(), weights, values, init, tile::LhsOrder::mk,
        op.getTransposedV() ? tile::RhsOrder::nk : tile::RhsOrder::kn);
  };
  auto factorFor = [&](Value tile) {
    Value factor = exp2(asExponent(sub(state.maximum, maximum)));
    return alongColumns(factor,
                        cast<RankedTensorType>(tile.getType()).getDimSize(1));
  };
  // Beside a sum the factor costs nothing, so it is not made conditional.
  auto addScaled = [&](Value tile, Value other) -> Value {
    return math::FmaOp::create(b, tile, factorFor(tile), other);
  };
  if (isFirst && state.products)
    return State{state.acc, maximum, sums, multiply(state.products), Value()};
  if (isFirst)
    return State{multiply(state.acc), maximum, sums, Value(), Value()};
  if (policy.twoLevel && !state.products) {
    Value product = multiply(splat(state.acc.getType(), 0.0));
    return State{addScaled(state.acc, product), maximum,
                 addScaled(state.sums, sums), Value(), Value()};
  }
  if (state.products)
    state = addProducts(state);
  // What the product is added to, and the output beside it, if that is another.
  SmallVector<Value> tiles = {state.products ? state.products : state.acc};
  if (state.products)
    tiles.push_back(state.acc);
  auto rescale = [&](ValueRange old) {
    return llvm::map_to_vector(
        old, [&](Value tile) { return mul(tile, factorFor(tile)); });
  };
  Value newSums;
  if (sharedReference) {
    newSums = arith::AddFOp::create(b, state.sums, sums, contract());
  } else if (policy.lazy) {
    tiles.push_back(state.sums);
    auto where =
        tile::WhereOp::create(b, TypeRange(ValueRange(tiles)), grown, tiles);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&where.getBody().emplaceBlock());
      tile::YieldOp::create(b, rescale(tiles));
    }
    tiles.assign(where.result_begin(), where.result_end());
    newSums = arith::AddFOp::create(b, tiles.pop_back_val(), sums, contract());
  } else {
    tiles = rescale(tiles);
    newSums = addScaled(state.sums, sums);
  }
  Value product = multiply(tiles.front());
  if (!state.products)
    return State{product, maximum, newSums, Value(), Value()};
  return State{tiles.back(), maximum, newSums, product, Value()};
}

Value KernelBuilder::buildSinks() {
  auto load = [&](Value head) -> Value {
    Value sink =
        tile::ScalarLoadOp::create(b, b.getF32Type(), operands.sinks, head);
    return isLarge ? sink : mul(sink, f32(llvm::numbers::log2e));
  };
  if (!operands.packing)
    return scalarTile(load(head), rowType());
  // Heads of a group follow each other in the rows of a query.
  const GroupPacking &packing = *operands.packing;
  RankedTensorType type = tensor({rows}, b.getIndexType());
  Value row = tile::CoordOp::create(b, type, 0, index(0));
  Value ofGroup =
      arith::RemUIOp::create(b, row, scalarTile(index(packing.rows), type));
  Value first = arith::MulIOp::create(b, head, index(packing.heads)), sinks;
  for (int64_t i = 0; i < packing.heads; ++i) {
    Value own =
        scalarTile(load(arith::AddIOp::create(b, first, index(i))), rowType());
    if (!sinks) {
      sinks = own;
      continue;
    }
    Value isOwn = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, ofGroup,
                                        scalarTile(index(i), type));
    sinks = arith::SelectOp::create(b, isOwn, own, sinks);
  }
  return sinks;
}

Value KernelBuilder::getWeights(Value scores, Value maximum) {
  Value shifted = asExponent(sub(scores, maximum));
  if (weightExponent != 0)
    shifted = arith::AddFOp::create(
        b, shifted, splat(rowType(), weightExponent), contract());
  return exp2(shifted);
}

void KernelBuilder::addSink(RowSums &sums) {
  Value sink = buildSinks(), old = sums.maximum;
  sums.maximum = arith::MaxNumFOp::create(b, old, sink);
  sums.fraction = exp2(asExponent(sub(old, sums.maximum)));
  sums.sum = math::FmaOp::create(b, sums.sum, sums.fraction,
                                 getWeights(sink, sums.maximum));
}

void KernelBuilder::addPreviousSum(RowSums &sums, Value firstRow) {
  Value other = loadPreviousLse(firstRow);
  if (!isLarge)
    other = mul(other, splat(rowType(), llvm::numbers::log2e));
  Value larger = arith::MaxNumFOp::create(b, other, sums.maximum);
  Value own = exp2(asExponent(sub(sums.maximum, larger)));
  sums.previous = getWeights(other, larger);
  sums.sum = math::FmaOp::create(b, sums.sum, own, sums.previous);
  sums.maximum = larger;
  sums.fraction = sums.fraction ? mul(sums.fraction, own) : own;
}

void KernelBuilder::buildEpilogue(State state, Value firstRow) {
  Value sum = tile::ReduceOp::create(b, rowType(), tile::ReduceKind::add,
                                     state.sums, Value(), 1, IntegerAttr());
  Value zero = splat(rowType(), 0.0);
  RowSums sums = {sum, state.maximum, Value(), Value()};
  // Of parts with a number of keys each, sinks are added as if these were
  // merged.
  bool takesPrevious =
      operands.previousO && !operands.inParts && !operands.isUnedited;
  bool isOnePart = (operands.sinks || takesPrevious) && !operands.inParts &&
                   operands.partKeys;
  if (operands.sinks && !operands.inParts && !isOnePart)
    addSink(sums);
  if (takesPrevious && !isOnePart)
    addPreviousSum(sums, firstRow);
  Value empty =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sums.sum, zero);
  Value inverse = arith::DivFOp::create(b, splat(rowType(), 1.0), sums.sum);
  inverse = arith::SelectOp::create(b, empty, zero, inverse);
  Value ofPrevious = sums.previous ? mul(inverse, sums.previous) : Value();
  if (sums.fraction)
    inverse = mul(inverse, sums.fraction);
  if (outputScale)
    inverse = mul(inverse, asRows(outputScale));
  auto scored = cast<attention::ScoredOpInterface>(op.getOperation());
  if (float factor = scored.getFactorOfKept(); factor != 1)
    inverse = mul(inverse, splat(rowType(), factor));
  int64_t width = getTileWidth(op.getValueHeadDim());
  Value out = mul(state.acc, alongColumns(inverse, width));
  if (sums.previous) {
    Value factor = alongColumns(ofPrevious, width);
    Value previous =
        loadPreviousOutput(sums.previous, width, firstRow, index(0));
    out = math::FmaOp::create(b, previous, factor, out);
  }
  Value lse;
  if (isOnePart)
    std::tie(out, lse) = mergeOnePart(
        out, buildLogarithm(sums.sum, sums.maximum, empty), firstRow);
  if (operands.inParts)
    storeRounded(out, operands.o, getPartPlace(part, firstRow, index(0)));
  else
    storeOutput(out, firstRow, index(0));
  if (state.largest)
    storeMaxLogits(buildMaxLogits(state.largest), firstRow);
  if (!operands.lse)
    return;
  if (!lse)
    lse = buildLogarithm(sums.sum, sums.maximum, empty);
  tile::StoreOp::create(b, lse, operands.lse, getPartPlace(part, firstRow),
                        storeEnd, /*add=*/UnitAttr(), getFold());
}

Value KernelBuilder::addLargest(Value largest, Value parts,
                                Value exponentFactor) {
  if (hasFactorOfStep())
    parts =
        mul(parts, isa<RankedTensorType>(exponentFactor.getType())
                       ? alongColumns(exponentFactor, kPartialSums)
                       : scalarTile(exponentFactor,
                                    cast<RankedTensorType>(parts.getType())));
  return arith::MaxNumFOp::create(b, parts, largest);
}

/// Scores are in their own units with large ones, else in those of exponents,
/// or times a factor in these.
Value KernelBuilder::buildMaxLogits(Value largest) {
  Value maximum = tile::ReduceOp::create(b, rowType(), tile::ReduceKind::max,
                                         largest, Value(), 1, IntegerAttr());
  if (isLarge)
    return maximum;
  if (!hasFactorOfStep())
    maximum = mul(maximum, asRows(exponentScale));
  return mul(maximum, splat(rowType(), llvm::numbers::ln2));
}

void KernelBuilder::storeMaxLogits(Value maxLogits, Value firstRow) {
  SmallVector<Value> place =
      merges ? getPlace(firstRow) : getPartPlace(part, firstRow);
  tile::StoreOp::create(b, maxLogits, operands.maxLogits, place, storeEnd,
                        /*add=*/UnitAttr(), getFold());
}

/// Natural log of the sum of exponentials: (m + log2 sum) * ln 2.
Value KernelBuilder::buildLogarithm(Value sum, Value maximum, Value empty) {
  Value log2 = math::Log2Op::create(b, sum, approximate());
  if (weightExponent != 0)
    log2 = sub(log2, splat(rowType(), weightExponent));
  Value ln2 = splat(rowType(), llvm::numbers::ln2), lse;
  if (isLarge)
    lse = math::FmaOp::create(b, log2, ln2, maximum);
  else
    lse = mul(arith::AddFOp::create(b, maximum, log2, contract()), ln2);
  return arith::SelectOp::create(
      b, empty, splat(rowType(), -std::numeric_limits<double>::infinity()),
      lse);
}
