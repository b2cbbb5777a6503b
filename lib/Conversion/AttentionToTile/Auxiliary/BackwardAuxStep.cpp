//===- BackwardAuxStep.cpp - gradients of auxiliary operands --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Backward/BackwardBuilder.h"
#include "fa3/Dialect/Tile/Analysis/ElementLoads.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Dialect/Tile/IR/TileExactOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fa3;
using attention::Sequence;

using Expander = ScalarRegionExpander;

Value BackwardBuilder::buildAuxTerms(Expander &expander, Value keep) {
  Operation *end = op.getScoreGradRegion().front().getTerminator();
  Expander::Entry entry =
      expander.get(end->getOperand(1 + operands.auxPosition));
  Value gradient = expander.lift(b.getLoc(), entry, Expander::Both);
  if (keep)
    gradient = arith::SelectOp::create(b, keep, gradient,
                                       splat(gradient.getType(), 0.0));
  return gradient;
}

Value BackwardBuilder::addToAux(Expander &expander, Value keep, Value sum) {
  Value gradient = buildAuxTerms(expander, keep);
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
void BackwardBuilder::buildAuxOfPairs() {
  const attention::AuxPlace &place = operands.auxPlace;
  bool ofBatch = place.has(attention::AuxIndex::Batch),
       ofHead = place.has(attention::AuxIndex::Head);
  // There are no lengths beside gradients of auxiliary operands.
  sequences.readExtents();
  Value batches = dim(operands.q, 0);
  SmallVector<Value> bounds = {blocksOf(dim(operands.q, 2), rows),
                               blocksOf(dim(operands.k, 2), columns)};
  if (ofHead)
    bounds.push_back(heads);
  if (ofBatch)
    bounds.push_back(batches);
  ValueRange position = openGrid(bounds);
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
  Sums result;
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
  // What is summed up over has no index.
  storeAux(result.ofAux, firstQuery, firstKey);
}

/// An element for each row of the tile.
void BackwardBuilder::buildAuxOfRows(Value first) {
  keyHead = arith::DivUIOp::create(b, head, group);
  Sums sums;
  sums.ofAux = splat(tensor({rows}, b.getF32Type()), 0.0);
  Rows own = products.ofKeys ? loadKeys(first, rows, /*areSummed=*/false)
                             : loadQueries(first, rows, /*areSummed=*/false);
  storeAux(buildColumns(own, sums).ofAux, first, first);
}
