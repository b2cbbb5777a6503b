//===- BackwardStep.cpp - one block of scores -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "BackwardBuilder.h"
#include "BackwardUnits.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa3;
using attention::Sequence;

using Expander = ScalarRegionExpander;

Value BackwardBuilder::along(Value statistic) {
  return tile::BroadcastOp::create(b, tensor({rows, columns}, b.getF32Type()),
                                   statistic, products.ofKeys ? 0 : 1);
}

Value BackwardBuilder::buildExponents(Value scores, Value factor,
                                      const Rows &queries) {
  if (!operands.rest)
    return math::FmaOp::create(b, scores, factor, along(queries.shift),
                               reassociate());
  // Of large scores the difference comes first, and no flag lets the score's
  // terms be joined to what comes behind.
  Value difference = arith::AddFOp::create(b, scores, along(queries.shift));
  if (!queries.rest)
    return mul(difference, factor);
  return math::FmaOp::create(b, difference, factor, along(queries.rest));
}

void BackwardBuilder::storeNormalized(const Sums &sums, const Rows &own) {
  RankedTensorType type = tensor({rows}, b.getF32Type());
  Value sum = tile::ReduceOp::create(b, type, tile::ReduceKind::add,
                                     sums.ofRows, Value(), 1, IntegerAttr());
  Value rest =
      arith::NegFOp::create(b, math::Log2Op::create(b, sum, approximate()));
  // A sum of weights is not 1 where the lse that is given was rounded by as
  // much, and where it has further terms: a sink, or keys of other calls. Only
  // the first is made up for: two units of the last place.
  constexpr double kRounding = 0x1p-22;
  Value rounding = splat(type, kRounding * llvm::numbers::log2e);
  Value most = mul(math::AbsFOp::create(b, own.shift), rounding);
  Value isRounding = arith::CmpFOp::create(b, arith::CmpFPredicate::OLE,
                                           math::AbsFOp::create(b, rest), most);
  rest = arith::SelectOp::create(b, isRounding, rest, splat(type, 0));
  tile::StoreOp::create(b, rest, operands.rest,
                        sequences.getStatisticPlace(head, own.first));
  Value factor =
      tile::BroadcastOp::create(b, sums.ofGradients.getType(), exp2(rest), 1);
  store(mul(sums.ofGradients, factor), operands.dq, own.first, operands.scale);
}

Value BackwardBuilder::dot(Value lhs, Value rhs) {
  RankedTensorType type = tensor({rows, columns}, b.getF32Type());
  return tile::DotOp::create(b, type, lhs, rhs, splat(type, 0.0),
                             tile::LhsOrder::mk, tile::RhsOrder::nk);
}

Value BackwardBuilder::buildWeights(Value scores, Value keep,
                                    const Rows &queries, Expander &expander) {
  RankedTensorType type = tensor({rows, columns}, b.getF32Type());
  Value factor = f32(llvm::numbers::log2e);
  if (hasScoreCode()) {
    scores = arith::MulFOp::create(b, scores, scalarTile(scale, type),
                                   reassociate());
    expander.bind(op.getScoreMod().getArgument(0), {scores, Expander::Both});
    Expander::Entry edited = expander.expand(op.getScoreMod());
    if (products.needsGradient())
      expander.bind(op.getScoreGradRegion().getArgument(0),
                    {scores, Expander::Both});
    scores = expander.lift(b.getLoc(), edited, Expander::Both);
  } else {
    factor = mul(scale, factor);
  }
  Value exponents = buildExponents(scores, scalarTile(factor, type), queries);
  if (keep)
    exponents = arith::SelectOp::create(
        b, keep, exponents,
        splat(type, -std::numeric_limits<double>::infinity()));
  return exp2(exponents);
}

Value BackwardBuilder::derive(Value weights, Value gradients, Value keep,
                              Value isKept, const Rows &queries,
                              Expander &expander) {
  Value ofScores;
  if (isKept || unitOfGradients) {
    Type type = gradients.getType();
    Value factor = splat(type, getFactorOfKept());
    if (isKept)
      gradients =
          arith::SelectOp::create(b, isKept, gradients, splat(type, 0.0));
    if (unitOfGradients)
      factor = scalarTile(getFactorOfKept() == 1
                              ? unitOfGradients
                              : mul(unitOfGradients, f32(getFactorOfKept())),
                          cast<RankedTensorType>(type));
    Value delta = along(arith::NegFOp::create(b, queries.delta));
    ofScores = math::FmaOp::create(b, gradients, factor, delta);
  } else {
    ofScores = sub(gradients, along(queries.delta));
  }
  ofScores = mul(weights, ofScores);
  if (!hasScoreCode())
    return ofScores;
  Region &region = op.getScoreGradRegion();
  expander.bind(region.getArgument(1), {ofScores, Expander::Both});
  Expander::Entry edited = expander.expand(region);
  Value next = expander.lift(b.getLoc(), edited, Expander::Both);
  // The derivative of what is masked may be no number.
  if (keep && next != ofScores)
    next = arith::SelectOp::create(b, keep, next, splat(next.getType(), 0.0));
  return next;
}

Value BackwardBuilder::narrow(Value wide) {
  return arith::TruncFOp::create(
      b, tensor({rows, columns}, op.getElementType()), wide);
}

Value BackwardBuilder::addProduct(Value weights, Value rows, Value sum) {
  return tile::DotOp::create(b, sum.getType(), narrow(weights), rows, sum,
                             tile::LhsOrder::mk, tile::RhsOrder::kn);
}

void BackwardBuilder::addToQueries(Value part, const Rows &queries) {
  Value first = queries.first;
  // Rows behind the sequence get 0, whatever the keys are, unless they are in
  // its own last block of rows.
  if (endsEarly() && SequenceCode::getStatisticRows(op) % columns != 0) {
    auto type = cast<RankedTensorType>(part.getType());
    RankedTensorType numbers = tensor(type.getShape(), b.getIndexType());
    Value end = scalarTile(sequences.queryEnd, numbers);
    Value number = tile::CoordOp::create(b, numbers, 0, first);
    Value isQuery =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number, end);
    part = arith::SelectOp::create(b, isQuery, part, splat(type, 0.0));
  }
  if (products.countsDq)
    part = countUnits(b, part, queries.dqRate);
  SmallVector<Value> place = sequences.getSumPlace(head, first);
  place.push_back(index(0));
  tile::StoreOp::create(b, part, operands.dqSums, place,
                        /*below=*/Value(), /*add=*/b.getUnitAttr(),
                        /*fold=*/IntegerAttr());
}

BackwardBuilder::Sums BackwardBuilder::buildStep(const Rows &own,
                                                 const Rows &other, Value keep,
                                                 Expander &expander,
                                                 Sums sums) {
  const Rows &queries = products.ofKeys ? other : own;
  Value scores = dot(own.forScores, other.forScores);
  Value gradients, ofScores;
  if (products.needsGradient())
    gradients = dot(own.forGradients, other.forGradients);
  Value weights = buildWeights(scores, keep, queries, expander);
  // Of weights that are dropped, and of their gradients, nothing is left; the
  // factor of the others is that of a whole sum for dv.
  Value isKept, kept = weights;
  if (!op.getKeepMod().empty()) {
    isKept = expander.lift(b.getLoc(), expander.expand(op.getKeepMod()),
                           Expander::Both);
    Value none = splat(weights.getType(), 0.0);
    kept = arith::SelectOp::create(b, isKept, weights, none);
  }
  if (gradients)
    ofScores = derive(weights, gradients, keep, isKept, queries, expander);
  if (products.aux == BackwardProducts::OfTable && !sums.ofAux) {
    Value tile = arith::DivUIOp::create(b, own.first, index(rows));
    Value number = arith::AddIOp::create(b, tile, sequences.batch);
    addToTable(expander, buildAuxTerms(expander, keep), number);
  } else if (products.aux != BackwardProducts::None) {
    sums.ofAux = addToAux(expander, keep, sums.ofAux);
  }
  if (sums.ofRows) {
    Value parts = tile::ReduceOp::create(
        b, sums.ofRows.getType(), tile::ReduceKind::add, weights, Value(), 1,
        b.getI64IntegerAttr(kPartialSums));
    sums.ofRows = arith::AddFOp::create(b, sums.ofRows, parts, contract());
  }
  if (sums.ofWeights)
    sums.ofWeights = addProduct(kept, other.values, sums.ofWeights);
  // The same tile with its columns, which are queries, as rows.
  Value part;
  if (products.addsDq) {
    Value zero = splat(tensor({columns, op.getHeadDim()}, b.getF32Type()), 0.0);
    part =
        tile::DotOp::create(b, zero.getType(), narrow(ofScores), own.elements,
                            zero, tile::LhsOrder::km, tile::RhsOrder::kn);
  }
  if (sums.ofGradients)
    sums.ofGradients = addProduct(ofScores, other.elements, sums.ofGradients);
  if (part)
    addToQueries(part, other);
  return sums;
}

//===----------------------------------------------------------------------===//
// What counts, and where there is work
//===----------------------------------------------------------------------===//

ScalarRegionExpander::Entry BackwardBuilder::isInside(Expander::Entry entry,
                                                      Sequence sequence) {
  auto type = cast<RankedTensorType>(entry.value.getType());
  return {arith::CmpIOp::create(b, arith::CmpIPredicate::slt, entry.value,
                                scalarTile(sequences.getEnd(sequence), type)),
          entry.varies};
}

/// Columns beyond the end must not enter sums: the scores of keys there are 0,
/// whose weights may be infinite, and score code may make anything of those of
/// queries. What lies behind a sequence that ends early may be anything, but
/// that its statistics let it weigh nothing.
bool BackwardBuilder::needsColumns() {
  bool hasStatistics = products.ofKeys && !hasScoreCode() &&
                       SequenceCode::getStatisticRows(op) % columns == 0;
  return !products.ofKeys || hasScoreCode() || (endsEarly() && !hasStatistics);
}

/// The numbers of a block's queries and keys, and all that code may ask for but
/// them.
BlockPlace BackwardBuilder::bindArrays(Expander &expander, Value firstRow,
                                       Value firstColumn) {
  expander.bindLengths(sequences.queryLength, sequences.keyLength);
  expander.bindHeads(heads);
  for (auto [tensor, memref, transposed] :
       llvm::zip(op.getAux(), operands.aux, operands.transposedAux))
    expander.bindAux(tensor, memref, products.ofKeys ? transposed : Value());
  Expander::Entry row{numbers(firstRow, rows), Expander::Rows};
  Expander::Entry column{numbers(firstColumn, columns), Expander::Columns};
  return {sequences.batch,
          {head, Expander::Uniform},
          products.ofKeys ? column : row,
          products.ofKeys ? row : column};
}

BackwardBuilder::Pairs BackwardBuilder::bindBlock(Expander &expander,
                                                  const Rows &own,
                                                  const ListedStep &step) {
  BlockPlace place = bindArrays(expander, own.first, step.masked);
  Expander::Entry row = products.ofKeys ? place.key : place.query,
                  column = products.ofKeys ? place.query : place.key;
  Sequence ofRows = products.ofKeys ? Sequence::key : Sequence::query,
           ofColumns = products.ofKeys ? Sequence::query : Sequence::key;
  Pairs pairs;
  auto both = [&](const std::optional<Expander::Entry> &so,
                  Expander::Entry condition) {
    return so ? bothHold(b, expander, *so, condition) : condition;
  };
  if (needsColumns())
    pairs.keep = both(pairs.keep, isInside(column, ofColumns));
  // Rows beyond the end are not stored, but enter dq.
  if (products.addsDq && (endsEarly() || mayBeCut(Sequence::key, rows))) {
    auto &keep = step.isVisible && dividesLists() ? pairs.always : pairs.keep;
    keep = both(keep, isInside(row, Sequence::key));
  }
  if (!op.getMaskMod().empty()) {
    bindPlace(expander, op.getMaskMod(), place, operands.captures);
    Expander::Entry seen = expander.expand(op.getMaskMod());
    // Of full blocks only the end is looked at.
    if (step.isOfFull) {
      Value isOfFull = expander.lift(
          b.getLoc(), {step.isOfFull, Expander::Uniform}, seen.varies);
      Value lifted = expander.lift(b.getLoc(), seen, seen.varies);
      seen.value = arith::OrIOp::create(b, lifted, isOfFull);
    }
    pairs.keep = both(pairs.keep, seen);
  }
  if (step.first != step.masked && (hasScoreCode() || !op.getKeepMod().empty()))
    (products.ofKeys ? place.query : place.key).value =
        numbers(step.first, columns);
  for (Region *region :
       {&op.getScoreMod(), &op.getScoreGradRegion(), &op.getKeepMod()})
    if (!region->empty())
      bindPlace(expander, *region, place, operands.captures);
  // Only where there is work: rows from the end on are stored by nobody.
  pairs.work = pairs.keep;
  if (endsEarly() && !products.addsDq)
    pairs.work = both(pairs.keep, isInside(row, ofRows));
  return pairs;
}

BackwardBuilder::Sums BackwardBuilder::buildBlock(const Rows &own,
                                                  const ListedStep &step,
                                                  Sums sums) {
  Rows other = products.ofKeys
                   ? loadQueries(step.first, columns, /*areSummed=*/true)
                   : loadKeys(step.first, columns, /*areSummed=*/true);
  Expander expander(b, rows, columns);
  if (dividesLists())
    expander.readQuotientsOnce();
  for (auto [result, entry] : shared)
    expander.bindResult(result, entry);
  Pairs pairs = bindBlock(expander, own, step);
  if (!pairs.work)
    return buildStep(own, other, Value(), expander, sums);
  Value mask;
  if (pairs.keep)
    mask = expander.lift(b.getLoc(), *pairs.keep, Expander::Both);
  if (step.isVisible)
    mask = arith::OrIOp::create(
        b,
        expander.lift(b.getLoc(), {step.isVisible, Expander::Uniform},
                      Expander::Both),
        mask);
  if (pairs.always) {
    Value always = expander.lift(b.getLoc(), *pairs.always, Expander::Both);
    mask = arith::AndIOp::create(b, always, mask);
  }
  // Elements that no visible pair reads have a gradient, too; and of listed
  // blocks somebody has found that they have a visible pair.
  if (products.aux == BackwardProducts::OfPairs || dividesLists())
    return buildStep(own, other, mask, expander, sums);
  Value needed = endsEarly()
                     ? expander.lift(b.getLoc(), *pairs.work, Expander::Both)
                     : mask;
  Value live = tile::AnyPossibleOp::create(b, b.getI1Type(), needed);
  SmallVector<Value> before = sums.list();
  auto branch = scf::IfOp::create(b, TypeRange(ValueRange(before)), live,
                                  /*withElseRegion=*/!before.empty());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Sums next = buildStep(own, other, mask, expander, sums);
  if (before.empty())
    return next;
  scf::YieldOp::create(b, next.list());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, before);
  return makeSums(branch.getResults());
}
