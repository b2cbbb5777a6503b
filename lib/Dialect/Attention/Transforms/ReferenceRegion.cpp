//===- ReferenceRegion.cpp - scalar code in references --------------------===//

#include "ReferenceRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3::attention;

/// Scalars of the function, lengths and elements of auxiliary operands; null
/// for other operations.
static Value inlineRead(ImplicitLocOpBuilder &b, HostFunction &host,
                        Operation &op, IRMapping &mapping) {
  if (auto length = dyn_cast<LengthOp>(op))
    return length.getSequence() == Sequence::key ? host.keys : host.queries;
  auto extract = dyn_cast<tensor::ExtractOp>(op);
  if (!extract)
    return {};
  SmallVector<Value> indices;
  for (Value index : extract.getIndices())
    indices.push_back(mapping.lookup(index));
  return memref::LoadOp::create(b, extract.getLoc(),
                                mapping.lookup(extract.getTensor()), indices);
}

static IRMapping makeMapping(HostFunction &host, Block &block,
                             ValueRange arguments) {
  IRMapping mapping(host.values);
  mapping.map(block.getArguments(), arguments);
  for (auto [aux, memref] : llvm::zip(host.getScored().getAux(), host.aux))
    mapping.map(aux, memref);
  return mapping;
}

Value fa3::attention::inlineRegion(ImplicitLocOpBuilder &b, HostFunction &host,
                                   Region &region, ValueRange arguments) {
  Block &block = region.front();
  IRMapping mapping = makeMapping(host, block, arguments);
  for (Operation &op : block.without_terminator()) {
    if (Value read = inlineRead(b, host, op, mapping))
      mapping.map(op.getResult(0), read);
    else
      b.clone(op, mapping);
  }
  return mapping.lookup(cast<YieldOp>(block.getTerminator()).getValue());
}

Value fa3::attention::inlineRegionWide(ImplicitLocOpBuilder &b,
                                       HostFunction &host, Region &region,
                                       ValueRange arguments) {
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
    if (Value read = inlineRead(b, host, op, mapping)) {
      mapping.map(op.getResult(0), widen(read));
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
      for (Type type : op.getResultTypes())
        state.addTypes(isa<FloatType>(type) ? f64 : type);
      mapping.map(op.getResults(), b.create(state)->getResults());
    }
  }
  return get(cast<YieldOp>(block.getTerminator()).getValue());
}
