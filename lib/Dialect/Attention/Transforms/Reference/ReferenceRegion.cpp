//===- ReferenceRegion.cpp - scalar code in references --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ReferenceRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3::attention;

Value fa3::attention::readElement(ImplicitLocOpBuilder &b,
                                  tensor::ExtractOp extract,
                                  IRMapping &mapping) {
  b.setLoc(extract.getLoc());
  Value memref = mapping.lookup(extract.getTensor()), isInside;
  Value zero = arith::ConstantIndexOp::create(b, 0);
  SmallVector<Value> indices;
  for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
    indices.push_back(mapping.lookup(index));
    if (!isComputedIndex(extract, index))
      continue;
    Value isNotBelow = arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                             indices.back(), zero);
    Value isBelow = arith::CmpIOp::create(
        b, arith::CmpIPredicate::slt, indices.back(),
        memref::DimOp::create(b, memref, static_cast<int64_t>(dim)));
    for (Value condition : {isNotBelow, isBelow})
      isInside = isInside
                     ? arith::AndIOp::create(b, isInside, condition).getResult()
                     : condition;
  }
  if (!isInside)
    return memref::LoadOp::create(b, memref, indices);
  auto branch = scf::IfOp::create(b, extract.getType(), isInside,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value element = memref::LoadOp::create(b, memref, indices);
  scf::YieldOp::create(b, element);
  b.setInsertionPointToStart(branch.elseBlock());
  Value nothing = arith::ConstantOp::create(
      b, cast<TypedAttr>(b.getZeroAttr(extract.getType())));
  scf::YieldOp::create(b, nothing);
  return branch.getResult(0);
}

Value fa3::attention::buildIsInside(ImplicitLocOpBuilder &b, Value array,
                                    ArrayRef<Value> place) {
  Value isInside;
  for (auto [axis, index] : llvm::enumerate(place)) {
    Value extent = memref::DimOp::create(b, array, axis);
    // What is below 0 is beyond every extent.
    Value fits =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index, extent);
    isInside =
        isInside ? arith::AndIOp::create(b, isInside, fits).getResult() : fits;
  }
  return isInside;
}

void fa3::attention::cloneScalar(ImplicitLocOpBuilder &b, Operation &op,
                                 IRMapping &mapping) {
  Operation *copy = b.clone(op, mapping);
  if (!isDivision(copy))
    return;
  OpBuilder builder(copy);
  copy->setOperand(1,
                   buildDivisor(builder, copy->getLoc(), copy->getOperand(1)));
}

/// Scalars of the function, lengths and elements of auxiliary operands; null
/// for other operations.
static Value inlineRead(ImplicitLocOpBuilder &b, HostFunction &host,
                        SequenceLengths lengths, Operation &op,
                        IRMapping &mapping) {
  if (isa<HeadsOp>(op))
    return host.heads;
  if (auto length = dyn_cast<LengthOp>(op))
    return length.getSequence() == Sequence::key ? lengths.keys
                                                 : lengths.queries;
  if (auto dim = dyn_cast<tensor::DimOp>(op))
    return memref::DimOp::create(b, mapping.lookup(dim.getSource()),
                                 mapping.lookupOrDefault(dim.getIndex()));
  auto extract = dyn_cast<tensor::ExtractOp>(op);
  if (!extract)
    return {};
  return readElement(b, extract, mapping);
}

static IRMapping makeMapping(HostFunction &host, Block &block,
                             ValueRange arguments) {
  IRMapping mapping(host.values);
  mapping.map(block.getArguments(), arguments);
  for (auto [aux, memref] : llvm::zip(host.getScored().getAux(), host.aux))
    mapping.map(aux, memref);
  return mapping;
}

static SequenceLengths orExtents(HostFunction &host, SequenceLengths lengths) {
  if (!lengths.queries)
    lengths.queries = host.queries;
  if (!lengths.keys)
    lengths.keys = host.keys;
  return lengths;
}

SmallVector<Value> fa3::attention::inlineRegion(ImplicitLocOpBuilder &b,
                                                HostFunction &host,
                                                Region &region,
                                                ValueRange arguments,
                                                SequenceLengths lengths) {
  lengths = orExtents(host, lengths);
  Block &block = region.front();
  IRMapping mapping = makeMapping(host, block, arguments);
  for (Operation &op : block.without_terminator()) {
    if (Value read = inlineRead(b, host, lengths, op, mapping))
      mapping.map(op.getResult(0), read);
    else
      cloneScalar(b, op, mapping);
  }
  return llvm::map_to_vector(
      cast<YieldOp>(block.getTerminator()).getValues(),
      [&](Value value) { return mapping.lookupOrDefault(value); });
}

SmallVector<Value>
fa3::attention::inlineIndices(ImplicitLocOpBuilder &b, HostFunction &host,
                              Region &region, ValueRange arguments,
                              SequenceLengths lengths, ValueRange values) {
  lengths = orExtents(host, lengths);
  Block &block = region.front();
  llvm::DenseSet<Operation *> needed;
  SmallVector<Value> open(values);
  while (!open.empty())
    if (Operation *op = open.pop_back_val().getDefiningOp();
        op && op->getBlock() == &block && needed.insert(op).second)
      llvm::append_range(open, op->getOperands());
  IRMapping mapping = makeMapping(host, block, arguments);
  for (Operation &op : block.without_terminator()) {
    if (!needed.contains(&op))
      continue;
    if (Value read = inlineRead(b, host, lengths, op, mapping))
      mapping.map(op.getResult(0), read);
    else
      cloneScalar(b, op, mapping);
  }
  return llvm::map_to_vector(
      values, [&](Value value) { return mapping.lookupOrDefault(value); });
}

Value fa3::attention::inlineRegionWide(ImplicitLocOpBuilder &b,
                                       HostFunction &host, Region &region,
                                       ValueRange arguments,
                                       SequenceLengths lengths,
                                       ReadShift shift) {
  lengths = orExtents(host, lengths);
  Block &block = region.front();
  IRMapping mapping = makeMapping(host, block, arguments);
  Type f64 = b.getF64Type();
  auto widen = [&](Value value) -> Value {
    auto type = dyn_cast<FloatType>(value.getType());
    return type && type.getWidth() < 64
               ? arith::ExtFOp::create(b, f64, value).getResult()
               : value;
  };
  auto get = [&](Value value) { return widen(mapping.lookup(value)); };
  for (Operation &op : block.without_terminator()) {
    FloatAttr constant;
    if (isa<arith::BitcastOp>(op)) {
      op.emitOpError("has no gradient by definition: it looks at the bits of a "
                     "number");
      return {};
    }
    if (Value read = inlineRead(b, host, lengths, op, mapping)) {
      read = widen(read);
      auto extract = dyn_cast<tensor::ExtractOp>(op);
      if (extract && extract.getTensor() == shift.tensor)
        read = arith::AddFOp::create(b, read, shift.amount);
      mapping.map(op.getResult(0), read);
    } else if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
      mapping.map(op.getResult(0), get(op.getOperand(0)));
    } else if (matchPattern(&op, m_Constant(&constant))) {
      mapping.map(op.getResult(0),
                  arith::ConstantOp::create(
                      b, b.getF64FloatAttr(constant.getValueAsDouble())));
    } else {
      OperationState state(op.getLoc(), op.getName());
      state.addAttributes(op.getAttrs());
      for (Value operand : op.getOperands())
        state.addOperands(get(operand));
      if (isDivision(&op))
        state.operands[1] = buildDivisor(b, op.getLoc(), state.operands[1]);
      for (Type type : op.getResultTypes())
        state.addTypes(isa<FloatType>(type) ? f64 : type);
      mapping.map(op.getResults(), b.create(state)->getResults());
    }
  }
  return get(cast<YieldOp>(block.getTerminator()).getValue());
}

/// Whether a block is in the list whose length is yielded as number `list`.
static Value buildIsListed(ImplicitLocOpBuilder &b, Value block, unsigned list,
                           function_ref<SmallVector<Value>(Value entry)> read) {
  Value zero = arith::ConstantIndexOp::create(b, 0),
        one = arith::ConstantIndexOp::create(b, 1),
        none = arith::ConstantIntOp::create(b, 0, 1);
  auto loop = scf::ForOp::create(b, zero, read(zero)[list], one, none);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value isOwn =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                            read(loop.getInductionVar())[list + 1], block);
  Value found = arith::OrIOp::create(b, loop.getRegionIterArg(0), isOwn);
  scf::YieldOp::create(b, found);
  return loop.getResult(0);
}

Value fa3::attention::buildListed(
    ImplicitLocOpBuilder &b, ScoredOpInterface op, Value i, Value j, Value keep,
    function_ref<SmallVector<Value>(Region &, Value, Value)> read) {
  auto sizes = op.getSizesOfBlocks();
  if (!sizes)
    return keep;
  auto divide = [&](Value row, int64_t size) -> Value {
    return arith::DivUIOp::create(b, row,
                                  arith::ConstantIndexOp::create(b, size));
  };
  Value ofQuery = divide(i, sizes->first), ofKey = divide(j, sizes->second);
  Region &region = *op.findList(Sequence::query);
  auto isListed = [&](unsigned list) {
    return buildIsListed(b, ofKey, list, [&](Value entry) {
      return read(region, ofQuery, entry);
    });
  };
  constexpr unsigned kMasked = 0, kFull = 2;
  Value isMasked = isListed(kMasked), isFull = isListed(kFull);
  if (keep)
    isMasked = arith::AndIOp::create(b, isMasked, keep);
  return arith::OrIOp::create(b, isMasked, isFull);
}
