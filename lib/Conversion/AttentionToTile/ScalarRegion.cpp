//===- ScalarRegion.cpp - scalar code becomes code on tiles ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ScalarRegion.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Dialect/Tile/Analysis/AffineForm.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3;

RankedTensorType ScalarRegionExpander::getType(unsigned varies,
                                               Type element) const {
  switch (varies) {
  case Rows:
    return RankedTensorType::get({rows}, element);
  case Columns:
    return RankedTensorType::get({columns}, element);
  default:
    return RankedTensorType::get({rows, columns}, element);
  }
}

Value ScalarRegionExpander::lift(Location loc, Entry entry, unsigned varies) {
  varies |= entry.varies;
  if (varies == entry.varies)
    return entry.value;
  if (entry.varies == Uniform) {
    RankedTensorType type = getType(varies, entry.value.getType());
    Attribute constant;
    if (matchPattern(entry.value, m_Constant(&constant)))
      return arith::ConstantOp::create(builder, loc,
                                       DenseElementsAttr::get(type, constant));
    return tensor::SplatOp::create(builder, loc, entry.value, type);
  }
  Type element = cast<RankedTensorType>(entry.value.getType()).getElementType();
  int64_t newDim = entry.varies == Rows ? 1 : 0;
  return tile::BroadcastOp::create(builder, loc, getType(Both, element),
                                   entry.value, newDim);
}

/// The index, or 0 if it lies outside dimension `dim`; `isInside` then is
/// false.
Value ScalarRegionExpander::bringInside(Location loc, Value index, Value memref,
                                        int64_t dim, Value &isInside) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value extent = memref::DimOp::create(builder, loc, memref, dim);
  Value isNotBelow = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sge, index, zero);
  Value isBelow = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                        index, extent);
  Value holds = arith::AndIOp::create(builder, loc, isNotBelow, isBelow);
  isInside =
      isInside
          ? arith::AndIOp::create(builder, loc, isInside, holds).getResult()
          : holds;
  return arith::SelectOp::create(builder, loc, holds, index, zero);
}

LogicalResult ScalarRegionExpander::expandExtract(Operation *op) {
  auto extract = cast<tensor::ExtractOp>(op);
  Location loc = op->getLoc();
  Value memref = aux.lookup(extract.getTensor());
  Type element = extract.getType();

  // Uniform indices select; the others must be the query or the key itself
  // (plus something uniform) and stand last, the query before the key.
  SmallVector<Value> indices;
  Value isInside;
  unsigned varies = Uniform;
  bool isTransposed = false;
  for (Value index : extract.getIndices()) {
    Entry entry = entries.lookup(index);
    if (entry.varies == Uniform) {
      if (attention::isComputedIndex(extract, index))
        entry.value =
            bringInside(loc, entry.value, memref, indices.size(), isInside);
      if (varies != Uniform)
        return extract.emitOpError("reads an auxiliary operand at a uniform "
                                   "index after one that varies; put the "
                                   "dimensions of query and key last");
      indices.push_back(entry.value);
      continue;
    }
    std::optional<tile::TileForm> form = tile::getTileForm(entry.value);
    if (entry.varies == Both || !form || !form->isAffine() ||
        form->coordinates.size() != 1 ||
        form->coordinates.front().coefficient != 1)
      return extract.emitOpError("reads an auxiliary operand at an index that "
                                 "is neither uniform nor the query or key plus "
                                 "something uniform");
    if (varies & entry.varies)
      return extract.emitOpError("reads an auxiliary operand at two indices "
                                 "that vary with the ")
             << (entry.varies == Rows ? "query" : "key");
    isTransposed |= varies > entry.varies;
    varies |= entry.varies;
    indices.push_back(tile::materialize(builder, loc, form->base));
  }
  if (isTransposed) {
    memref = transposedAux.lookupOrNull(extract.getTensor());
    if (!memref)
      return extract.emitOpError("reads an auxiliary operand with the key "
                                 "before the query; transpose it");
    std::swap(indices[indices.size() - 2], indices.back());
  }
  Value result;
  if (varies == Uniform)
    result = tile::ScalarLoadOp::create(builder, loc, element, memref, indices);
  else
    result = tile::LoadOp::create(builder, loc, getType(varies, element),
                                  memref, indices);
  if (isInside) {
    Value nothing = arith::ConstantOp::create(
        builder, loc, cast<TypedAttr>(builder.getZeroAttr(result.getType())));
    result = arith::SelectOp::create(
        builder, loc, lift(loc, {isInside, Uniform}, varies), result, nothing);
  }
  bind(extract.getResult(), {result, varies});
  return success();
}

LogicalResult ScalarRegionExpander::expandOp(Operation *op) {
  if (auto length = dyn_cast<attention::LengthOp>(op)) {
    bool query = length.getSequence() == attention::Sequence::query;
    bind(length.getResult(), {query ? queryLength : keyLength, Uniform});
    return success();
  }
  if (isa<tensor::ExtractOp>(op))
    return expandExtract(op);
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    Value extent = memref::DimOp::create(builder, op->getLoc(),
                                         aux.lookup(dim.getSource()),
                                         get(dim.getIndex()).value);
    bind(dim.getResult(), {extent, Uniform});
    return success();
  }

  unsigned varies = Uniform;
  SmallVector<Entry> operands;
  for (Value operand : op->getOperands()) {
    // Captured scalars that nobody bound are visible as they are.
    operands.push_back(get(operand));
    varies |= operands.back().varies;
  }
  if (attention::isDivision(op))
    operands[1].value =
        attention::buildDivisor(builder, op->getLoc(), operands[1].value);
  OperationState state(op->getLoc(), op->getName());
  state.addAttributes(op->getAttrs());
  for (Entry operand : operands)
    state.addOperands(varies == Uniform ? operand.value
                                        : lift(op->getLoc(), operand, varies));
  for (Type type : op->getResultTypes())
    state.addTypes(varies == Uniform ? type : getType(varies, type));
  Operation *expanded = builder.create(state);
  for (auto [from, to] : llvm::zip(op->getResults(), expanded->getResults()))
    bind(from, {to, varies});
  return success();
}

LogicalResult ScalarRegionExpander::expandOperations(Region &region) {
  for (Operation &op : region.front().without_terminator())
    if (failed(expandOp(&op)))
      return failure();
  return success();
}

FailureOr<ScalarRegionExpander::Entry>
ScalarRegionExpander::expand(Region &region) {
  if (failed(expandOperations(region)))
    return failure();
  return get(
      cast<attention::YieldOp>(region.front().getTerminator()).getValue());
}

void fa3::bindPlace(ScalarRegionExpander &expander, Region &region,
                    const BlockPlace &place, const IRMapping &captures) {
  using Expander = ScalarRegionExpander;
  auto indices = region.getArguments().take_back(4);
  expander.bind(indices[0], {place.batch, Expander::Uniform});
  expander.bind(indices[1], place.head);
  expander.bind(indices[2], place.query);
  expander.bind(indices[3], place.key);
  for (auto [from, to] : captures.getValueMap())
    expander.bind(from, {to, Expander::Uniform});
}

ScalarRegionExpander::Entry fa3::bothHold(ImplicitLocOpBuilder &b,
                                          ScalarRegionExpander &expander,
                                          ScalarRegionExpander::Entry x,
                                          ScalarRegionExpander::Entry y) {
  unsigned varies = x.varies | y.varies;
  return {arith::AndIOp::create(b, expander.lift(b.getLoc(), x, varies),
                                expander.lift(b.getLoc(), y, varies)),
          varies};
}

/// Whether an operation on the key gives an integer that stays in a register
/// for each key, given those before it.
static bool isKeptNumber(Operation *op, const llvm::DenseSet<Value> &kept) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isIntOrIndex())
    return false;
  if (isa<tensor::ExtractOp>(op))
    return true;
  if (!isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
           arith::CeilDivSIOp, arith::CeilDivUIOp, arith::RemSIOp,
           arith::RemUIOp>(op))
    return false;
  return kept.contains(op->getOperand(0)) ||
         !matchPattern(op->getOperand(1), m_Constant());
}

void fa3::addRegionDemand(Region &region, tile::LoadPolicy loads,
                          RegionDemand &demand) {
  if (region.empty())
    return;
  using Expander = ScalarRegionExpander;
  llvm::DenseMap<Value, unsigned> varies;
  unsigned last = region.getNumArguments() - 1;
  varies[region.getArgument(last - 1)] = Expander::Rows;
  varies[region.getArgument(last)] = Expander::Columns;
  // Integers of a key that are loaded or divided by a number of the launch:
  // ptxas keeps them, and what further divisions make of them.
  llvm::DenseSet<Value> kept;
  for (Operation &op : region.front()) {
    demand.hasTanh |= isa<math::TanhOp>(op);
    unsigned all = Expander::Uniform;
    for (Value operand : op.getOperands())
      all |= varies.lookup(operand);
    for (Value result : op.getResults())
      varies[result] = all;
    if (auto extract = dyn_cast<tensor::ExtractOp>(op);
        extract && all == Expander::Both) {
      auto array = cast<RankedTensorType>(extract.getTensor().getType());
      unsigned bits = array.getElementTypeBitWidth();
      bool inBulk = (bits == 16 || bits == 32) && array.getRank() <= 5 &&
                    tile::allowsBulk(array, loads);
      ++(inBulk ? demand.bulkTiles : demand.loadedTiles);
      demand.bulkBytes += inBulk ? bits / 8 : 0;
    }
    if (!(all & Expander::Columns))
      continue;
    if (all == Expander::Columns && isKeptNumber(&op, kept)) {
      kept.insert(op.getResult(0));
      ++demand.keyNumbers;
    }
    demand.keyUses += isa<arith::CmpIOp>(op);
    demand.keyUses += isa<arith::SIToFPOp, arith::UIToFPOp>(op) ? 2 : 0;
  }
}
