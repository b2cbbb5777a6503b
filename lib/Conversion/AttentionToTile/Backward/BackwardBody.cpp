//===- BackwardBody.cpp - rows, loops and the grid ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A tile of scores has rows that stay and columns that a loop walks over: keys
// and queries for dk and dv, queries and keys for dq. Either way the products
// read what lies in memory as it is, and weights and their gradients are left
// operands that stay in registers.
//===----------------------------------------------------------------------===//

#include "BackwardBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;
using attention::Sequence;

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
  auto loadOf = [&](Value array) {
    return load(array, Sequence::query, first, count, areSummed);
  };
  if (operands.q8) {
    result.forScores = loadOf(operands.q8);
    if (products.needsGradient())
      result.forGradients = loadOf(operands.outGrad8);
    if (products.dk)
      result.elements = loadOf(operands.q);
    if (products.dv)
      result.values = loadOf(operands.outGrad);
  } else {
    result.elements = result.forScores = loadOf(operands.q);
    result.values = result.forGradients = loadOf(operands.outGrad);
  }
  result.shift = loadStatistic(operands.shift, first, count);
  if (products.needsGradient())
    result.delta = loadStatistic(operands.delta, first, count);
  if (operands.rest && !products.sumsWeights)
    result.rest = loadStatistic(operands.rest, first, count);
  if (products.countsDq)
    result.dqRate = loadStatistic(operands.dqRate, first, count);
  return result;
}

BackwardBuilder::Rows BackwardBuilder::loadKeys(Value first, int64_t count,
                                                bool areSummed) {
  Rows result;
  result.first = first;
  auto loadOf = [&](Value array) {
    return load(array, Sequence::key, first, count, areSummed);
  };
  result.forScores = loadOf(operands.k8 ? operands.k8 : operands.k);
  if (products.needsGradient())
    result.forGradients = loadOf(operands.v8 ? operands.v8 : operands.v);
  if (!operands.k8)
    result.elements = result.forScores;
  else if (products.dq || products.addsDq)
    result.elements = loadOf(operands.k);
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

Value BackwardBuilder::loadUnit(unsigned ofQueries, unsigned ofKeys) {
  Value unit;
  for (unsigned copy : {ofQueries, ofKeys}) {
    Value scales = operands.scales[copy];
    SmallVector<Value> at =
        sequences.getPlaceOfScale(scales, sequences.batch, head, heads);
    at.push_back(index(0));
    Value own = tile::ScalarLoadOp::create(b, b.getF32Type(), scales, at);
    unit = unit ? mul(unit, own) : own;
  }
  return unit;
}

void BackwardBuilder::readUnits() {
  if (!op.hasScales())
    return;
  scale = mul(operands.scale, loadUnit(0, 1));
  if (products.needsGradient())
    unitOfGradients = loadUnit(3, 2);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

BackwardBuilder::Sums
BackwardBuilder::loop(Value end, Sums init,
                      function_ref<Sums(Value, Sums)> body, Value first) {
  Value one = index(1), zero = index(0);
  auto loop =
      scf::ForOp::create(b, first ? first : zero, end, one, init.list());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Sums next = body(loop.getInductionVar(), makeSums(loop.getRegionIterArgs()));
  // A loop that carries nothing ends by itself.
  if (loop.getNumResults() != 0)
    scf::YieldOp::create(b, next.list());
  return makeSums(loop.getResults());
}

/// Keys are walked from the last to the first, so that blocks that a causal
/// mask or the end cuts come first; so do those of queries from the first to
/// the last.
BackwardBuilder::Sums BackwardBuilder::buildColumns(const Rows &own,
                                                    Sums sums) {
  readUnits();
  if (op.getSizesOfBlocks())
    return buildListed(own, sums);
  Value blocks = arith::CeilDivSIOp::create(
      b, sequences.getEnd(products.ofKeys ? Sequence::query : Sequence::key),
      index(columns));
  return loop(blocks, sums, [&](Value step, Sums carried) {
    Value block = step;
    if (!products.ofKeys) {
      Value last = arith::SubIOp::create(b, blocks, index(1));
      block = arith::SubIOp::create(b, last, step);
    }
    Value first = arith::MulIOp::create(b, block, index(columns));
    return buildBlock(own, first, carried);
  });
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

BackwardBuilder::Sums BackwardBuilder::makeZeros() {
  auto zero = [&](int64_t width) {
    return splat(tensor({rows, width}, b.getF32Type()), 0.0);
  };
  Sums sums;
  if (products.needsGradient())
    sums.ofGradients = zero(op.getHeadDim());
  if (products.dv)
    sums.ofWeights = zero(op.getValueHeadDim());
  return sums;
}

void BackwardBuilder::buildOfQueries(Value first) {
  Sums sums = makeZeros();
  keyHead = arith::DivUIOp::create(b, head, group);
  if (products.sumsWeights)
    sums.ofRows = splat(tensor({rows, kPartialSums}, b.getF32Type()), 0.0);
  Rows own = loadQueries(first, rows, /*areSummed=*/false);
  sums = buildColumns(own, sums);
  if (products.sumsWeights)
    storeNormalized(sums, own);
  else
    store(sums.ofGradients, operands.dq, first, operands.scale);
}

void BackwardBuilder::buildOfKeys(Value first) {
  Sums sums = makeZeros();
  Rows own = loadKeys(first, rows, /*areSummed=*/products.addsDq);
  if (operands.hasSingleHeads) {
    head = keyHead;
    sums = buildColumns(own, sums);
  } else {
    // The heads of a group one after the other, into the same sums.
    Value firstHead = arith::MulIOp::create(b, keyHead, group);
    if (operands.group) {
      Value end = arith::AddIOp::create(b, firstHead, group);
      auto buildHead = [&](Value number, Sums carried) {
        head = number;
        return buildColumns(own, carried);
      };
      sums = loop(end, sums, buildHead, firstHead);
    } else {
      sums = loop(group, sums, [&](Value number, Sums carried) {
        head = arith::AddIOp::create(b, firstHead, number);
        return buildColumns(own, carried);
      });
    }
  }
  if (products.dk)
    store(sums.ofGradients, operands.dk, first, operands.scale);
  if (products.dv)
    store(sums.ofWeights, operands.dv, first,
          op.getKeepMod().empty() ? Value() : f32(getFactorOfKept()));
}

void BackwardBuilder::build() {
  heads = dim(operands.q, op.getPlaceRank(Sequence::query) - 2);
  Value keyHeads = dim(operands.k, op.getPlaceRank(Sequence::key) - 2);
  group = operands.group ? operands.group
                         : arith::DivUIOp::create(b, heads, keyHeads);
  if (products.aux == BackwardProducts::OfPairs)
    return buildAuxOfPairs();
  if (products.aux == BackwardProducts::OfTable && walksOverBlocks())
    return buildAuxOfWalks();
  bool isByKeyHead = products.ofKeys && products.aux == BackwardProducts::None;
  auto [first, ofTile] =
      sequences.openGrid(products.ofKeys ? Sequence::key : Sequence::query,
                         rows, isByKeyHead ? keyHeads : heads);
  (isByKeyHead ? keyHead : head) = ofTile;
  if (products.aux == BackwardProducts::OfRows)
    return buildAuxOfRows(first);
  if (products.aux == BackwardProducts::OfTable)
    return buildAuxOfTable(first);
  products.ofKeys ? buildOfKeys(first) : buildOfQueries(first);
}

void fa3::buildBackwardBody(OpBuilder &builder, attention::BackwardOp op,
                            const BackwardOperands &operands,
                            const BackwardPart &part) {
  OpBuilder::InsertionGuard guard(builder);
  BackwardBuilder(builder, op, operands, part).build();
}
