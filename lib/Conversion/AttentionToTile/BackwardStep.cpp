//===- BackwardStep.cpp - body of one backward kernel ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A tile of scores has rows that stay and columns that a loop walks over: keys
// and queries for dk and dv, queries and keys for dq. Either way the products
// read what lies in memory as it is, and weights and their gradients are left
// operands that stay in registers.
//===----------------------------------------------------------------------===//

#include "BackwardStep.h"
#include "KernelMath.h"
#include "fa3/Dialect/Tile/Analysis/ElementLoads.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa3;

using attention::Sequence;
using Expander = ScalarRegionExpander;

namespace {
class BackwardBuilder : KernelMath {
public:
  BackwardBuilder(OpBuilder &builder, attention::BackwardOp op,
                  const BackwardOperands &operands, const BackwardPart &part)
      : KernelMath(op.getLoc(), builder), op(op), operands(operands),
        products(part.products), rows(part.tile.blockM),
        columns(part.tile.blockN),
        sequences(b, op,
                  {operands.q, operands.k, operands.aux, operands.maxQ,
                   operands.batch},
                  operands.captures) {}

  LogicalResult build();

private:
  /// The sums that a kernel carries: those of dq or dk, and those of dv, or
  /// those of an auxiliary operand, and beside dq the weights of the rows, in
  /// parts; null where there are none.
  struct Sums {
    Value ofGradients, ofWeights, ofAux, ofRows;
    SmallVector<Value> list() const {
      SmallVector<Value> values;
      for (Value value : {ofGradients, ofWeights, ofAux, ofRows})
        if (value)
          values.push_back(value);
      return values;
    }
  };
  /// What stays while the loop runs, or comes with a step: rows of q or k and
  /// of do or v, and for queries their statistics.
  struct Rows {
    Value first; ///< number of the first row
    Value forScores, forGradients;
    Value shift, delta, rest;
  };
  /// Parts of the sum of a row, as in the forward.
  static constexpr int64_t kPartialSums = 8;

  Sums makeSums(ValueRange values) const {
    Sums sums;
    if (products.aux != BackwardProducts::None)
      sums.ofAux = values.front();
    else if (products.needsGradient())
      sums.ofGradients = values.front();
    if (products.dv || products.sumsWeights)
      (products.dv ? sums.ofWeights : sums.ofRows) = values.back();
    return sums;
  }
  Value dim(Value memref, int64_t axis) {
    return memref::DimOp::create(b, memref, axis);
  }
  /// Rows of an array of the sequence, and statistics of queries.
  /// With `areSummed` they are summed up over, each with its weight: behind a
  /// sequence that is 0, and what lies there has to be a number, so 0 as well.
  Value load(Value memref, Sequence sequence, Value first, int64_t count,
             bool areSummed);
  Value loadStatistic(Value memref, Value first, int64_t count);
  Rows loadQueries(Value first, int64_t count, bool areSummed);
  Rows loadKeys(Value first, int64_t count, bool areSummed);
  Sums loop(Value end, Sums init, function_ref<FailureOr<Sums>(Value, Sums)>);
  FailureOr<Sums> buildColumns(const Rows &own, Sums sums);
  FailureOr<Sums> buildBlock(const Rows &own, Value firstColumn, Sums sums);
  FailureOr<Sums> buildStep(const Rows &own, const Rows &other, Value keep,
                            Expander &expander, Sums sums);
  /// Adds what a block of pairs gives the elements of an auxiliary operand.
  Value addToAux(Expander &expander, Value keep, Value sum);
  LogicalResult buildAuxOfPairs();
  LogicalResult buildAuxOfRows(Value first);
  void storeAux(Value sum, Value firstQuery, Value firstKey);
  Value along(Value statistic);
  Value buildExponents(Value scores, Value factor, const Rows &queries);
  /// What the rounding of lse left of exponents, of sums of weights: stored,
  /// and dq with it.
  void storeNormalized(const Sums &sums, const Rows &own);
  Value dot(Value lhs, Value rhs);
  void store(Value sum, Value target, Value first, Value factor);
  Value getHead(Sequence sequence) const {
    return sequence == Sequence::query ? head : keyHead;
  }

  bool endsEarly() { return SequenceCode::endsEarly(op); }
  bool hasScoreCode() { return !op.getScoreMod().empty(); }
  float getFactorOfKept() {
    return cast<attention::ScoredOpInterface>(op.getOperation())
        .getFactorOfKept();
  }

  attention::BackwardOp op;
  const BackwardOperands &operands;
  BackwardProducts products;
  int64_t rows, columns;
  /// What is known of the sequence at hand.
  SequenceCode sequences;
  Value head, keyHead;
  Value group; ///< heads that share a key head
  Value heads; ///< of queries, how many
  bool hasFailed = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value BackwardBuilder::load(Value memref, Sequence sequence, Value first,
                            int64_t count, bool areSummed) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<Value> place =
      sequences.getPlace(sequence, getHead(sequence), first);
  place.push_back(index(0));
  Value limit;
  if (areSummed && endsEarly())
    limit = arith::SubIOp::create(b, sequences.getEnd(sequence), first);
  return tile::LoadOp::create(
      b, tensor({count, type.getShape().back()}, type.getElementType()), memref,
      place, limit, IntegerAttr(), IntegerAttr(), /*placesCount=*/0);
}

Value BackwardBuilder::loadStatistic(Value memref, Value first, int64_t count) {
  auto result = tile::LoadOp::create(b, tensor({count}, b.getF32Type()), memref,
                                     sequences.getStatisticPlace(head, first));
  // Statistics of columns come with the columns; where this is not heeded,
  // threads load them.
  if (products.ofKeys)
    result->setAttr(tile::TileDialect::kRoleAttrName, b.getStringAttr("load"));
  return result;
}

BackwardBuilder::Rows BackwardBuilder::loadQueries(Value first, int64_t count,
                                                   bool areSummed) {
  Rows result;
  result.first = first;
  result.forScores = load(operands.q, Sequence::query, first, count, areSummed);
  result.forGradients =
      load(operands.outGrad, Sequence::query, first, count, areSummed);
  result.shift = loadStatistic(operands.shift, first, count);
  if (products.needsGradient())
    result.delta = loadStatistic(operands.delta, first, count);
  if (operands.rest && !products.sumsWeights)
    result.rest = loadStatistic(operands.rest, first, count);
  return result;
}

BackwardBuilder::Rows BackwardBuilder::loadKeys(Value first, int64_t count,
                                                bool areSummed) {
  Rows result;
  result.first = first;
  result.forScores = load(operands.k, Sequence::key, first, count, areSummed);
  if (products.needsGradient())
    result.forGradients =
        load(operands.v, Sequence::key, first, count, areSummed);
  return result;
}

void BackwardBuilder::store(Value sum, Value target, Value first,
                            Value factor) {
  auto type = cast<RankedTensorType>(sum.getType());
  if (factor)
    sum = mul(sum, scalarTile(factor, type));
  Value result = arith::TruncFOp::create(
      b, tensor(type.getShape(), op.getElementType()), sum);
  Sequence sequence = products.ofKeys ? Sequence::key : Sequence::query;
  Value ofHead = getHead(sequence);
  SmallVector<Value> place = sequences.getPlace(sequence, ofHead, first);
  place.push_back(index(0));
  tile::StoreOp::create(b, result, target, place,
                        sequences.getStoreEnd(sequence, ofHead));
}

//===----------------------------------------------------------------------===//
// One block of scores
//===----------------------------------------------------------------------===//

/// A statistic of the queries as a tile of scores.
Value BackwardBuilder::along(Value statistic) {
  return tile::BroadcastOp::create(b, tensor({rows, columns}, b.getF32Type()),
                                   statistic, products.ofKeys ? 0 : 1);
}

/// A score less the logarithm of its row's sum, in units of exponents.
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
  Value most = mul(math::AbsFOp::create(b, own.shift),
                   splat(type, kRounding * llvm::numbers::log2e));
  Value isRounding = arith::CmpFOp::create(b, arith::CmpFPredicate::OLE,
                                           math::AbsFOp::create(b, rest), most);
  rest = arith::SelectOp::create(b, isRounding, rest, splat(type, 0));
  tile::StoreOp::create(b, rest, operands.rest,
                        sequences.getStatisticPlace(head, own.first));
  Value factor =
      tile::BroadcastOp::create(b, sums.ofGradients.getType(), exp2(rest), 1);
  store(mul(sums.ofGradients, factor), operands.dq, own.first, operands.scale);
}

/// The products of the rows of two tiles.
Value BackwardBuilder::dot(Value lhs, Value rhs) {
  RankedTensorType type = tensor({rows, columns}, b.getF32Type());
  return tile::DotOp::create(b, type, lhs, rhs, splat(type, 0.0),
                             tile::LhsOrder::mk, tile::RhsOrder::nk);
}

FailureOr<BackwardBuilder::Sums>
BackwardBuilder::buildStep(const Rows &own, const Rows &other, Value keep,
                           Expander &expander, Sums sums) {
  RankedTensorType type = tensor({rows, columns}, b.getF32Type());
  const Rows &queries = products.ofKeys ? other : own;
  Value scores = dot(own.forScores, other.forScores);
  Value gradients;
  if (products.needsGradient())
    gradients = dot(own.forGradients, other.forGradients);

  Value factor = f32(llvm::numbers::log2e);
  if (hasScoreCode()) {
    scores = arith::MulFOp::create(b, scores, scalarTile(operands.scale, type),
                                   reassociate());
    expander.bind(op.getScoreMod().getArgument(0), {scores, Expander::Both});
    Expander::Entry edited = expander.expand(op.getScoreMod());
    if (products.needsGradient())
      expander.bind(op.getScoreGradRegion().getArgument(0),
                    {scores, Expander::Both});
    scores = expander.lift(b.getLoc(), edited, Expander::Both);
  } else {
    factor = mul(operands.scale, factor);
  }
  Value exponents = buildExponents(scores, scalarTile(factor, type), queries);
  if (keep)
    exponents = arith::SelectOp::create(
        b, keep, exponents,
        splat(type, -std::numeric_limits<double>::infinity()));
  Value weights = exp2(exponents);

  // Of weights that are dropped, and of their gradients, nothing is left; the
  // factor of the others is that of a whole sum for dv.
  Value isKept, kept = weights;
  if (!op.getKeepMod().empty()) {
    isKept = expander.lift(b.getLoc(), expander.expand(op.getKeepMod()),
                           Expander::Both);
    kept = arith::SelectOp::create(b, isKept, weights, splat(type, 0.0));
  }
  Value ofScores;
  if (gradients) {
    if (isKept) {
      gradients =
          arith::SelectOp::create(b, isKept, gradients, splat(type, 0.0));
      Value delta = arith::NegFOp::create(b, queries.delta);
      ofScores = math::FmaOp::create(
          b, gradients, splat(type, getFactorOfKept()), along(delta));
    } else {
      ofScores = sub(gradients, along(queries.delta));
    }
    ofScores = mul(weights, ofScores);
    if (hasScoreCode()) {
      Region &region = op.getScoreGradRegion();
      expander.bind(region.getArgument(1), {ofScores, Expander::Both});
      Expander::Entry edited = expander.expand(region);
      Value next = expander.lift(b.getLoc(), edited, Expander::Both);
      // The derivative of what is masked may be no number.
      if (keep && next != ofScores)
        next = arith::SelectOp::create(b, keep, next, splat(type, 0.0));
      ofScores = next;
    }
  }
  auto narrow = [&](Value wide) -> Value {
    return arith::TruncFOp::create(
        b, tensor({rows, columns}, op.getElementType()), wide);
  };
  auto add = [&](Value left, Value right, Value sum) -> Value {
    return tile::DotOp::create(b, sum.getType(), narrow(left), right, sum,
                               tile::LhsOrder::mk, tile::RhsOrder::kn);
  };
  if (products.aux != BackwardProducts::None)
    sums.ofAux = addToAux(expander, keep, sums.ofAux);
  if (sums.ofRows) {
    Value parts = tile::ReduceOp::create(
        b, sums.ofRows.getType(), tile::ReduceKind::add, weights, Value(), 1,
        b.getI64IntegerAttr(kPartialSums));
    sums.ofRows = arith::AddFOp::create(b, sums.ofRows, parts, contract());
  }
  if (sums.ofWeights)
    sums.ofWeights = add(kept, other.forGradients, sums.ofWeights);
  // The same tile with its columns, which are queries, as rows.
  Value part;
  if (products.addsDq) {
    Value zero = splat(tensor({columns, op.getHeadDim()}, b.getF32Type()), 0.0);
    part =
        tile::DotOp::create(b, zero.getType(), narrow(ofScores), own.forScores,
                            zero, tile::LhsOrder::km, tile::RhsOrder::kn);
  }
  if (sums.ofGradients)
    sums.ofGradients = add(ofScores, other.forScores, sums.ofGradients);
  if (part) {
    // Rows behind the sequence, which may be those of another one, get 0,
    // whatever the keys are.
    if (endsEarly()) {
      auto type = cast<RankedTensorType>(part.getType());
      RankedTensorType numbers = tensor(type.getShape(), b.getIndexType());
      Value isQuery = arith::CmpIOp::create(
          b, arith::CmpIPredicate::slt,
          tile::CoordOp::create(b, numbers, 0, other.first),
          scalarTile(sequences.queryEnd, numbers));
      part = arith::SelectOp::create(b, isQuery, part, splat(type, 0.0));
    }
    SmallVector<Value> place =
        sequences.getPlace(Sequence::query, head, other.first);
    place.push_back(index(0));
    tile::StoreOp::create(b, part, operands.dqSums, place,
                          /*below=*/Value(), /*add=*/b.getUnitAttr(),
                          /*fold=*/IntegerAttr());
  }
  return sums;
}

FailureOr<BackwardBuilder::Sums>
BackwardBuilder::buildBlock(const Rows &own, Value firstColumn, Sums sums) {
  Rows other = products.ofKeys
                   ? loadQueries(firstColumn, columns, /*areSummed=*/true)
                   : loadKeys(firstColumn, columns, /*areSummed=*/true);
  Expander expander(b, rows, columns);
  expander.bindLengths(sequences.queryLength, sequences.keyLength);
  expander.bindHeads(heads);
  for (auto [tensor, memref, transposed] :
       llvm::zip(op.getAux(), operands.aux, operands.transposedAux))
    expander.bindAux(tensor, memref, products.ofKeys ? transposed : Value());
  auto coordinates = [&](Value first, int64_t count) -> Value {
    return tile::CoordOp::create(b, tensor({count}, b.getIndexType()), 0,
                                 first);
  };
  Expander::Entry row{coordinates(own.first, rows), Expander::Rows};
  Expander::Entry column{coordinates(firstColumn, columns), Expander::Columns};
  BlockPlace place{sequences.batch,
                   {head, Expander::Uniform},
                   products.ofKeys ? column : row,
                   products.ofKeys ? row : column};

  Sequence ofRows = products.ofKeys ? Sequence::key : Sequence::query,
           ofColumns = products.ofKeys ? Sequence::query : Sequence::key;
  std::optional<Expander::Entry> keep;
  auto require = [&](Expander::Entry condition) {
    keep = keep ? bothHold(b, expander, *keep, condition) : condition;
  };
  // Columns beyond the end must not enter sums: the scores of keys there are 0,
  // whose weights may be infinite, and score code may make anything of those of
  // queries. Rows beyond the end are not stored, but enter dq.
  // What lies behind a sequence that ends early may be anything, but that its
  // statistics let it weigh nothing.
  bool hasStatistics = products.ofKeys && !hasScoreCode() &&
                       SequenceCode::getStatisticRows(op) % columns == 0;
  auto isInside = [&](Expander::Entry entry, Sequence sequence) {
    return Expander::Entry{
        arith::CmpIOp::create(
            b, arith::CmpIPredicate::slt, entry.value,
            scalarTile(sequences.getEnd(sequence),
                       cast<RankedTensorType>(entry.value.getType()))),
        entry.varies};
  };
  if (!products.ofKeys || hasScoreCode() || (endsEarly() && !hasStatistics))
    require(isInside(column, ofColumns));
  if (products.addsDq)
    require(isInside(row, Sequence::key));
  if (!op.getMaskMod().empty()) {
    bindPlace(expander, op.getMaskMod(), place, operands.captures);
    require(expander.expand(op.getMaskMod()));
  }
  for (Region *region :
       {&op.getScoreMod(), &op.getScoreGradRegion(), &op.getKeepMod()})
    if (!region->empty())
      bindPlace(expander, *region, place, operands.captures);
  // Only where there is work: rows from the end on are stored by nobody.
  std::optional<Expander::Entry> work = keep;
  if (endsEarly() && !products.addsDq) {
    Expander::Entry isRow = isInside(row, ofRows);
    work = keep ? bothHold(b, expander, *keep, isRow) : isRow;
  }
  if (!work)
    return buildStep(own, other, Value(), expander, sums);

  Value mask;
  if (keep)
    mask = expander.lift(b.getLoc(), *keep, Expander::Both);
  // Elements that no visible pair reads have a gradient, too.
  if (products.aux == BackwardProducts::OfPairs)
    return buildStep(own, other, mask, expander, sums);
  Value needed =
      endsEarly() ? expander.lift(b.getLoc(), *work, Expander::Both) : mask;
  Value live = tile::AnyPossibleOp::create(b, b.getI1Type(), needed);
  SmallVector<Value> before = sums.list();
  auto branch = scf::IfOp::create(b, TypeRange(ValueRange(before)), live,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  FailureOr<Sums> next = buildStep(own, other, mask, expander, sums);
  if (failed(next))
    return failure();
  scf::YieldOp::create(b, next->list());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, before);
  return makeSums(branch.getResults());
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

BackwardBuilder::Sums
BackwardBuilder::loop(Value end, Sums init,
                      function_ref<FailureOr<Sums>(Value, Sums)> body) {
  auto loop = scf::ForOp::create(b, index(0), end, index(1), init.list());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  FailureOr<Sums> next =
      body(loop.getInductionVar(), makeSums(loop.getRegionIterArgs()));
  hasFailed |= failed(next);
  scf::YieldOp::create(b, (failed(next) ? init : *next).list());
  return makeSums(loop.getResults());
}

/// The steps of one head. Keys are walked from the last to the first, so that
/// blocks that a causal mask or the end cuts come first; so do those of
/// queries from the first to the last.
FailureOr<BackwardBuilder::Sums> BackwardBuilder::buildColumns(const Rows &own,
                                                               Sums sums) {
  Value blocks = arith::CeilDivSIOp::create(
      b, sequences.getEnd(products.ofKeys ? Sequence::query : Sequence::key),
      index(columns));
  sums = loop(blocks, sums, [&](Value step, Sums carried) {
    Value block = step;
    if (!products.ofKeys) {
      Value last = arith::SubIOp::create(b, blocks, index(1));
      block = arith::SubIOp::create(b, last, step);
    }
    Value first = arith::MulIOp::create(b, block, index(columns));
    return buildBlock(own, first, carried);
  });
  if (hasFailed)
    return failure();
  return sums;
}

//===----------------------------------------------------------------------===//
// Gradients of auxiliary operands
//===----------------------------------------------------------------------===//

Value BackwardBuilder::addToAux(Expander &expander, Value keep, Value sum) {
  Operation *end = op.getScoreGradRegion().front().getTerminator();
  Expander::Entry entry =
      expander.get(end->getOperand(1 + operands.auxPosition));
  Value gradient = expander.lift(b.getLoc(), entry, Expander::Both);
  if (keep)
    gradient = arith::SelectOp::create(b, keep, gradient,
                                       splat(gradient.getType(), 0.0));
  if (products.aux == BackwardProducts::OfRows)
    return tile::ReduceOp::create(b, sum.getType(), tile::ReduceKind::add,
                                  gradient, sum, 1, IntegerAttr());
  return sum ? arith::AddFOp::create(b, sum, gradient).getResult() : gradient;
}

/// Stores the sums of the rows, or pairs, of a tile.
void BackwardBuilder::storeAux(Value sum, Value firstQuery, Value firstKey) {
  Value values[] = {sequences.batch, head, firstQuery, firstKey, index(0)};
  SmallVector<Value> place;
  for (attention::AuxIndex which : operands.auxPlace.indices)
    place.push_back(values[static_cast<unsigned>(which)]);
  if (place.empty())
    place = {sequences.batch, head, products.ofKeys ? firstKey : firstQuery};
  auto target = cast<MemRefType>(operands.auxGrad.getType());
  auto type = cast<RankedTensorType>(sum.getType());
  if (!target.getElementType().isF32())
    sum = arith::TruncFOp::create(
        b, tensor(type.getShape(), target.getElementType()), sum);
  // Bulk copies want rows of whole units, which a bias need not have.
  bool isBulk = tile::allowsBulk(target, tile::LoadPolicy::Auto);
  tile::StoreOp::create(b, sum, operands.auxGrad, place,
                        type.getRank() == 2 && !isBulk ? sequences.queryLength
                                                       : Value());
}

/// A tile of elements, one for each pair. Heads and sequences that share it are
/// summed up one after the other.
LogicalResult BackwardBuilder::buildAuxOfPairs() {
  const attention::AuxPlace &place = operands.auxPlace;
  bool ofBatch = place.has(attention::AuxIndex::Batch),
       ofHead = place.has(attention::AuxIndex::Head);
  // There are no lengths beside gradients of auxiliary operands.
  sequences.readExtents();
  Value batches = dim(operands.q, 0);
  SmallVector<Value> bounds = {
      arith::CeilDivSIOp::create(b, dim(operands.q, 2), index(rows)),
      arith::CeilDivSIOp::create(b, dim(operands.k, 2), index(columns))};
  if (ofHead)
    bounds.push_back(heads);
  if (ofBatch)
    bounds.push_back(batches);
  auto grid = tile::GridOp::create(b, bounds);
  b.setInsertionPointToStart(&grid.getBody().front());
  ValueRange position = grid.getBody().getArguments();
  Value firstQuery = arith::MulIOp::create(b, position[0], index(rows));
  Value firstKey = arith::MulIOp::create(b, position[1], index(columns));
  if (ofHead)
    head = position[2];
  if (ofBatch)
    sequences.setSequence(position.back());
  auto buildPairs = [&](Sums sums) {
    keyHead = arith::DivUIOp::create(b, head, group);
    return buildBlock(loadQueries(firstQuery, rows, /*areSummed=*/false),
                      firstKey, sums);
  };
  FailureOr<Sums> result;
  if (ofHead && ofBatch) {
    result = buildPairs({});
  } else {
    Sums zero;
    zero.ofAux = splat(tensor({rows, columns}, b.getF32Type()), 0.0);
    Value count = ofHead ? batches : heads;
    if (!ofHead && !ofBatch)
      count = arith::MulIOp::create(b, batches, heads);
    result = loop(count, zero, [&](Value step, Sums carried) {
      if (ofHead) {
        sequences.setSequence(step);
      } else if (ofBatch) {
        head = step;
      } else {
        sequences.setSequence(arith::DivUIOp::create(b, step, heads));
        head = arith::RemUIOp::create(b, step, heads);
      }
      return buildPairs(carried);
    });
  }
  if (failed(result) || hasFailed)
    return failure();
  // What is summed up over has no index.
  storeAux(result->ofAux, firstQuery, firstKey);
  return success();
}

/// An element for each row of the tile.
LogicalResult BackwardBuilder::buildAuxOfRows(Value first) {
  keyHead = arith::DivUIOp::create(b, head, group);
  Sums sums;
  sums.ofAux = splat(tensor({rows}, b.getF32Type()), 0.0);
  FailureOr<Sums> result = buildColumns(
      products.ofKeys ? loadKeys(first, rows, /*areSummed=*/false)
                      : loadQueries(first, rows, /*areSummed=*/false),
      sums);
  if (failed(result))
    return failure();
  storeAux(result->ofAux, first, first);
  return success();
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

LogicalResult BackwardBuilder::build() {
  heads = dim(operands.q, op.getPlaceRank(Sequence::query) - 2);
  Value keyHeads = dim(operands.k, op.getPlaceRank(Sequence::key) - 2);
  group = arith::DivUIOp::create(b, heads, keyHeads);
  if (products.aux == BackwardProducts::OfPairs)
    return buildAuxOfPairs();
  bool isByKeyHead = products.ofKeys && products.aux == BackwardProducts::None;
  auto [first, ofTile] =
      sequences.openGrid(products.ofKeys ? Sequence::key : Sequence::query,
                         rows, isByKeyHead ? keyHeads : heads);
  if (products.aux == BackwardProducts::OfRows) {
    head = ofTile;
    return buildAuxOfRows(first);
  }
  auto zero = [&](int64_t width) {
    return splat(tensor({rows, width}, b.getF32Type()), 0.0);
  };
  Sums sums;
  if (products.needsGradient())
    sums.ofGradients = zero(op.getHeadDim());
  if (products.dv)
    sums.ofWeights = zero(op.getValueHeadDim());

  if (!products.ofKeys) {
    head = ofTile;
    keyHead = arith::DivUIOp::create(b, head, group);
    if (products.sumsWeights)
      sums.ofRows = zero(kPartialSums);
    Rows own = loadQueries(first, rows, /*areSummed=*/false);
    FailureOr<Sums> result = buildColumns(own, sums);
    if (failed(result))
      return failure();
    if (products.sumsWeights)
      storeNormalized(*result, own);
    else
      store(result->ofGradients, operands.dq, first, operands.scale);
    return success();
  }
  keyHead = ofTile;
  Rows own = loadKeys(first, rows, /*areSummed=*/products.addsDq);
  if (operands.hasSingleHeads) {
    head = keyHead;
    FailureOr<Sums> result = buildColumns(own, sums);
    if (failed(result))
      return failure();
    sums = *result;
  } else {
    // The heads of a group one after the other, into the same sums.
    Value firstHead = arith::MulIOp::create(b, keyHead, group);
    sums = loop(group, sums, [&](Value number, Sums carried) {
      head = arith::AddIOp::create(b, firstHead, number);
      return buildColumns(own, carried);
    });
    if (hasFailed)
      return failure();
  }
  if (products.dk)
    store(sums.ofGradients, operands.dk, first, operands.scale);
  if (products.dv)
    store(sums.ofWeights, operands.dv, first,
          op.getKeepMod().empty() ? Value() : f32(getFactorOfKept()));
  return success();
}

LogicalResult fa3::buildBackwardBody(OpBuilder &builder,
                                     attention::BackwardOp op,
                                     const BackwardOperands &operands,
                                     const BackwardPart &part) {
  OpBuilder::InsertionGuard guard(builder);
  return BackwardBuilder(builder, op, operands, part).build();
}
