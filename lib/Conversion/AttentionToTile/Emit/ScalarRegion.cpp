//===- ScalarRegion.cpp - scalar code becomes code on tiles ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ScalarRegion.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Dialect/Tile/Analysis/AffineForm.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Support/ShortForm.h"
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

/// Reads each element at its own index.
void ScalarRegionExpander::expandGather(Operation *op) {
  auto extract = cast<tensor::ExtractOp>(op);
  Location loc = op->getLoc();
  unsigned varies = Uniform;
  for (Value index : extract.getIndices())
    varies |= get(index).varies;
  SmallVector<Value> indices;
  for (Value index : extract.getIndices()) {
    Entry entry = get(index);
    indices.push_back(entry.varies == Uniform ? entry.value
                                              : lift(loc, entry, varies));
  }
  bind(extract.getResult(),
       {tile::GatherOp::create(builder, loc, getType(varies, extract.getType()),
                               aux.lookup(extract.getTensor()), indices),
        varies});
}

/// A quotient of the numbers of a block's rows or columns by a constant, where
/// it is the same for all of them, as a scalar; null for others.
Value ScalarRegionExpander::getUniformQuotient(Location loc, Entry entry) {
  auto quotient = entry.value.getDefiningOp<arith::DivUIOp>();
  APInt divisor;
  if (!readsOnce || !quotient || entry.varies == Uniform ||
      !matchPattern(quotient.getRhs(), m_ConstantInt(&divisor)))
    return {};
  std::optional<tile::TileForm> form = tile::getTileForm(quotient.getLhs());
  if (!form || !form->isAffine() || form->coordinates.size() != 1 ||
      form->coordinates.front().coefficient != 1)
    return {};
  int64_t numbers = form->coordinates.front().extent;
  if (divisor.getSExtValue() % numbers != 0 ||
      !tile::provesMultipleOf(form->base, numbers))
    return {};
  Value by =
      arith::ConstantIndexOp::create(builder, loc, divisor.getSExtValue());
  return arith::DivUIOp::create(
      builder, loc, tile::materialize(builder, loc, form->base), by);
}

void ScalarRegionExpander::expandExtract(Operation *op) {
  auto extract = cast<tensor::ExtractOp>(op);
  Location loc = op->getLoc();
  Value memref = aux.lookup(extract.getTensor());
  Type element = extract.getType();

  // Of a block of elements uniform indices select; the others are the query or
  // the key itself (plus something uniform) and stand last, the query before
  // the key.
  SmallVector<std::optional<tile::TileForm>> forms;
  SmallVector<Value> uniform;
  unsigned varies = Uniform;
  bool isTransposed = false, isBlock = true;
  for (Value index : extract.getIndices()) {
    Entry entry = get(index);
    if (Value quotient = getUniformQuotient(loc, entry))
      entry = {quotient, Uniform};
    uniform.push_back(entry.value);
    forms.emplace_back();
    if (entry.varies == Uniform) {
      isBlock &= varies == Uniform;
      continue;
    }
    std::optional<tile::TileForm> form = tile::getTileForm(entry.value);
    isBlock &= entry.varies != Both && form && form->isAffine() &&
               form->coordinates.size() == 1 &&
               form->coordinates.front().coefficient == 1 &&
               !(varies & entry.varies);
    isTransposed |= varies > entry.varies;
    varies |= entry.varies;
    forms.back() = form;
  }
  if (isTransposed && isBlock) {
    memref = transposedAux.lookupOrNull(extract.getTensor());
    isBlock = memref != nullptr;
  }
  if (!isBlock) {
    expandGather(op);
    return;
  }

  SmallVector<Value> indices;
  Value isInside;
  for (auto [index, form, value] :
       llvm::zip(extract.getIndices(), forms, uniform)) {
    if (form) {
      indices.push_back(tile::materialize(builder, loc, form->base));
      continue;
    }
    if (attention::isComputedIndex(extract, index))
      value = bringInside(loc, value, aux.lookup(extract.getTensor()),
                          indices.size(), isInside);
    indices.push_back(value);
  }
  if (isTransposed)
    std::swap(indices[indices.size() - 2], indices.back());
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
}

/// Whether a value of a region is at least 0 whatever it is computed from:
/// numbers of batch, head, query and key, lengths, constants, and what keeps
/// the sign. Sums may wrap around, so nothing is said of them.
static bool isNonNegative(Value value, unsigned depth = 8) {
  if (depth == 0 || !value.getType().isIntOrIndex())
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getType().isIndex() &&
           isa<attention::ScoredOpInterface, attention::SequencesOp,
               attention::BlocksOp, attention::ListBlocksOp>(
               argument.getOwner()->getParentOp());
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.isNonNegative();
  Operation *op = value.getDefiningOp();
  auto holds = [&](unsigned operand) {
    return isNonNegative(op->getOperand(operand), depth - 1);
  };
  if (isa<attention::LengthOp, attention::HeadsOp, tensor::DimOp>(op))
    return true;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
          arith::CeilDivSIOp, arith::CeilDivUIOp, arith::RemUIOp,
          arith::MinSIOp>(op))
    return holds(0) && holds(1);
  if (isa<arith::RemSIOp, arith::ShRUIOp, arith::ShRSIOp>(op))
    return holds(0);
  if (isa<arith::AndIOp, arith::MaxSIOp>(op))
    return holds(0) || holds(1);
  return isa<arith::SelectOp>(op) && holds(1) && holds(2);
}

/// The name of the unsigned operation that is a division of numbers of at least
/// 0: it takes fewer instructions and registers.
static OperationName getUnsigned(Operation *op) {
  if (op->getNumOperands() != 2 || !isNonNegative(op->getOperand(0)) ||
      !isNonNegative(op->getOperand(1)))
    return op->getName();
  MLIRContext *context = op->getContext();
  if (isa<arith::DivSIOp, arith::FloorDivSIOp>(op))
    return OperationName(arith::DivUIOp::getOperationName(), context);
  if (isa<arith::RemSIOp>(op))
    return OperationName(arith::RemUIOp::getOperationName(), context);
  return op->getName();
}

void ScalarRegionExpander::expandOp(Operation *op) {
  if (auto length = dyn_cast<attention::LengthOp>(op)) {
    bool query = length.getSequence() == attention::Sequence::query;
    bind(length.getResult(), {query ? queryLength : keyLength, Uniform});
    return;
  }
  if (auto count = dyn_cast<attention::HeadsOp>(op))
    return bind(count.getResult(), {heads, Uniform});
  if (isa<tensor::ExtractOp>(op))
    return expandExtract(op);
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    Value axis = get(dim.getIndex()).value;
    Value extent = memref::DimOp::create(builder, op->getLoc(),
                                         aux.lookup(dim.getSource()), axis);
    bind(dim.getResult(), {extent, Uniform});
    return;
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
  OperationState state(op->getLoc(), getUnsigned(op));
  state.addAttributes(op->getAttrs());
  for (Entry operand : operands)
    state.addOperands(varies == Uniform ? operand.value
                                        : lift(op->getLoc(), operand, varies));
  for (Type type : op->getResultTypes())
    state.addTypes(varies == Uniform ? type : getType(varies, type));
  Operation *expanded = builder.create(state);
  for (auto [from, to] : llvm::zip(op->getResults(), expanded->getResults()))
    bind(from, {to, varies});
}

void ScalarRegionExpander::expandOperations(Region &region) {
  for (Operation &op : region.front().without_terminator()) {
    bool isKnown = op.getNumResults() != 0 &&
                   llvm::all_of(op.getResults(), [&](Value result) {
                     return known.contains(result);
                   });
    if (!isKnown)
      expandOp(&op);
  }
}

void ScalarRegionExpander::expandOperationsOf(Region &region,
                                              ValueRange values) {
  llvm::DenseSet<Value> needed(llvm::from_range, values);
  SmallVector<Operation *> chosen;
  for (Operation &op : llvm::reverse(region.front().without_terminator()))
    if (llvm::any_of(op.getResults(),
                     [&](Value result) { return needed.contains(result); })) {
      needed.insert_range(op.getOperands());
      chosen.push_back(&op);
    }
  for (Operation *op : llvm::reverse(chosen))
    expandOp(op);
}

ScalarRegionExpander::Entry ScalarRegionExpander::expand(Region &region) {
  expandOperations(region);
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
  Value second = expander.lift(b.getLoc(), y, varies),
        first = expander.lift(b.getLoc(), x, varies);
  return {arith::AndIOp::create(b, first, second), varies};
}

bool fa3::isQuotient(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
             arith::CeilDivSIOp, arith::CeilDivUIOp, arith::RemSIOp,
             arith::RemUIOp>(op);
}

/// Whether an operation on the key gives an integer that stays in a register
/// for each key, given those before it.
static bool isKeptNumber(Operation *op, const llvm::DenseSet<Value> &kept) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isIntOrIndex())
    return false;
  if (isa<tensor::ExtractOp>(op))
    return true;
  if (!isQuotient(op))
    return false;
  return kept.contains(op->getOperand(0)) ||
         !matchPattern(op->getOperand(1), m_Constant());
}

/// Whether a read is of a block of elements, as far as can be told from its
/// indices before there are tiles: uniform ones, then the query, then the key,
/// both plus something uniform.
static bool isBlockRead(tensor::ExtractOp extract, Value query, Value key,
                        const llvm::DenseMap<Value, unsigned> &varies) {
  unsigned seen = ScalarRegionExpander::Uniform;
  for (Value index : extract.getIndices()) {
    unsigned own = varies.lookup(index);
    if (own <= seen && (own || seen))
      return false;
    while (Operation *op = index.getDefiningOp()) {
      if (!isa<arith::AddIOp, arith::SubIOp>(op))
        break;
      bool isFirst = varies.lookup(op->getOperand(0)) != 0;
      if (!isFirst && isa<arith::SubIOp>(op))
        break;
      if (varies.lookup(op->getOperand(isFirst ? 1 : 0)))
        break;
      index = op->getOperand(isFirst ? 0 : 1);
    }
    if (own && index != query && index != key)
      return false;
    seen |= own;
  }
  return true;
}

/// Integers of the key, other than sums of it, that code looks at together with
/// the query: the line and the column of a pixel are two.
static int64_t countDigits(Region &region,
                           const llvm::DenseMap<Value, unsigned> &varies) {
  using Expander = ScalarRegionExpander;
  llvm::SmallDenseSet<Value> made, digits;
  llvm::SmallDenseMap<Value, bool> isUp;
  for (Operation &op : region.front()) {
    bool isMade = isQuotient(&op) ||
                  isa<arith::ShRUIOp, arith::ShRSIOp, arith::AndIOp>(op);
    for (Value operand : op.getOperands())
      isMade |= made.contains(operand);
    for (Value result : op.getResults()) {
      unsigned own = varies.lookup(result);
      // Conditions are no numbers.
      if (isMade && own == Expander::Columns &&
          result.getType().isIntOrIndex() && !result.getType().isInteger(1)) {
        made.insert(result);
        isUp[result] = isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op);
      }
      if (own == Expander::Both)
        for (Value operand : op.getOperands())
          if (made.contains(operand))
            digits.insert(operand);
    }
  }
  // One that is rounded up keeps what it is rounded from.
  return digits.size() +
         llvm::count_if(digits, [&](Value digit) { return isUp[digit]; });
}

bool fa3::isUniformQuotient(Operation *op, Value number, int64_t span) {
  APInt divisor;
  return isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op) &&
         op->getOperand(0) == number &&
         matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) &&
         divisor.isStrictlyPositive() && divisor.getSExtValue() % span == 0;
}

void fa3::addRegionDemand(Region &region, tile::LoadPolicy loads,
                          RegionDemand &demand,
                          std::optional<std::pair<int64_t, int64_t>> spans,
                          bool isSilent) {
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
    demand.hasTwoWays |= findShortForm(&op) != nullptr;
    unsigned all = Expander::Uniform;
    for (Value operand : op.getOperands())
      all |= varies.lookup(operand);
    if (spans &&
        (isUniformQuotient(&op, region.getArgument(last - 1), spans->first) ||
         isUniformQuotient(&op, region.getArgument(last), spans->second)))
      all = Expander::Uniform;
    for (Value result : op.getResults())
      varies[result] = all;
    auto extract = dyn_cast<tensor::ExtractOp>(op);
    demand.readsElements |= extract && all;
    if (extract && all &&
        !isBlockRead(extract, region.getArgument(last - 1),
                     region.getArgument(last), varies)) {
      if (!isSilent)
        extract.emitRemark(
            "reads elements one by one, which is slow: expects "
            "uniform indices, then the query, then the key, each "
            "plus something uniform, for blocks of them");
      // The elements, and their indices or addresses.
      if (all == Expander::Both)
        demand.loadedTiles += 2;
    } else if (extract && all == Expander::Both) {
      auto array = cast<RankedTensorType>(extract.getTensor().getType());
      unsigned bits = array.getElementTypeBitWidth();
      bool inBulk = (bits == 16 || bits == 32) && array.getRank() <= 5 &&
                    tile::allowsBulk(array, loads);
      if (inBulk)
        ++demand.bulkTiles;
      else
        demand.loadedTiles += bits > 32 ? 2 : 1;
      demand.bulkBytes += inBulk ? bits / 8 : 0;
    }
    demand.queryValues += all == Expander::Rows && op.getNumResults() == 1 &&
                          (extract || op.getResult(0).getType().isInteger(1));
    demand.pairQuotients += all == Expander::Both && isQuotient(&op) &&
                            !matchPattern(op.getOperand(1), m_Constant());
    if (!(all & Expander::Columns))
      continue;
    if (all == Expander::Columns && isKeptNumber(&op, kept)) {
      kept.insert(op.getResult(0));
      ++demand.keyNumbers;
    }
    demand.keyUses += isa<arith::CmpIOp>(op);
    demand.keyUses += isa<arith::SIToFPOp, arith::UIToFPOp>(op) ? 2 : 0;
  }
  demand.keyDigits = std::max(demand.keyDigits, countDigits(region, varies));
}

int64_t fa3::getKeySpan(Region &region) {
  if (region.empty())
    return 0;
  constexpr int64_t kWidest = 64;
  int64_t span = 0;
  Value key = region.getArguments().back();
  llvm::SmallDenseSet<Value> same = {key};
  for (Operation &op : region.front()) {
    if (op.getNumOperands() == 0 || !same.contains(op.getOperand(0)))
      continue;
    APInt amount;
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
      same.insert(op.getResult(0));
    else if (isa<arith::ShRUIOp, arith::ShRSIOp>(op) &&
             matchPattern(op.getOperand(1), m_ConstantInt(&amount)) &&
             amount.ult(llvm::Log2_64(kWidest) + 1))
      span = std::max(span, int64_t(1) << amount.getZExtValue());
  }
  return span;
}
