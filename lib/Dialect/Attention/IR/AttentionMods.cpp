//===- AttentionMods.cpp - modifications of masks and scores --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each modification emits the scalar code that a user would write by hand.
//===----------------------------------------------------------------------===//

#include "ModCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa3::attention;

/// The key position that is aligned with the query: i + (sk - sq).
static Value alignedQuery(ImplicitLocOpBuilder &b, const ModContext &context,
                          Alignment alignment = Alignment::bottom_right) {
  if (alignment == Alignment::top_left)
    return context.query;
  Value keys = LengthOp::create(b, b.getIndexType(), Sequence::key);
  Value queries = LengthOp::create(b, b.getIndexType(), Sequence::query);
  Value offset = arith::SubIOp::create(b, keys, queries);
  return arith::AddIOp::create(b, context.query, offset);
}

/// Rounding in another order is as good: factors and terms of the code may join
/// those of the kernel around it.
static arith::FastMathFlagsAttr flexible(ImplicitLocOpBuilder &b) {
  return arith::FastMathFlagsAttr::get(b.getContext(),
                                       arith::FastMathFlags::contract |
                                           arith::FastMathFlags::reassoc);
}

static Value notAfter(ImplicitLocOpBuilder &b, Value lhs, Value rhs) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::sle, lhs, rhs);
}

Value fa3::attention::indexConstant(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value CausalAttr::buildMaskMod(ImplicitLocOpBuilder &b,
                               const ModContext &context) const {
  return notAfter(b, context.key, alignedQuery(b, context, getAlign()));
}

Value WindowAttr::buildMaskMod(ImplicitLocOpBuilder &b,
                               const ModContext &context) const {
  if (!getLeft() && !getRight())
    return {};
  Value center = alignedQuery(b, context, getAlign());
  Value keep;
  if (getRight())
    keep = notAfter(
        b, context.key,
        arith::AddIOp::create(b, center, indexConstant(b, *getRight())));
  if (getLeft()) {
    Value first =
        arith::SubIOp::create(b, center, indexConstant(b, *getLeft()));
    Value inside = notAfter(b, first, context.key);
    keep = keep ? arith::AndIOp::create(b, keep, inside).getResult() : inside;
  }
  return keep;
}

Value PrefixAttr::buildMaskMod(ImplicitLocOpBuilder &b,
                               const ModContext &context) const {
  Value inPrefix = arith::CmpIOp::create(
      b, arith::CmpIPredicate::slt, context.key, indexConstant(b, getLength()));
  Value causal = notAfter(b, context.key, alignedQuery(b, context));
  return arith::OrIOp::create(b, inPrefix, causal);
}

static Value isEqual(ImplicitLocOpBuilder &b, Value lhs, Value rhs) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lhs, rhs);
}

Value ChunkAttr::buildMaskMod(ImplicitLocOpBuilder &b,
                              const ModContext &context) const {
  Value size = indexConstant(b, getSize());
  auto chunkOf = [&](Value position) -> Value {
    return arith::FloorDivSIOp::create(b, position, size);
  };
  Value ofQuery = chunkOf(alignedQuery(b, context));
  return isEqual(b, ofQuery, chunkOf(context.key));
}

Value DilationAttr::buildMaskMod(ImplicitLocOpBuilder &b,
                                 const ModContext &context) const {
  Value distance =
      arith::SubIOp::create(b, alignedQuery(b, context), context.key);
  Value rest = arith::RemSIOp::create(b, distance, indexConstant(b, getStep()));
  return isEqual(b, rest, indexConstant(b, 0));
}

Value fa3::attention::readElement(ImplicitLocOpBuilder &b, Value tensor,
                                  SmallVector<Value> indices, size_t shared) {
  auto type = cast<RankedTensorType>(tensor.getType());
  for (auto [dim, index] : llvm::enumerate(indices))
    if (dim < shared && type.getDimSize(dim) == 1)
      index = indexConstant(b, 0);
  return tensor::ExtractOp::create(b, tensor, indices);
}

Value DocumentAttr::buildMaskMod(ImplicitLocOpBuilder &b,
                                 const ModContext &context) const {
  Value ids = context.aux[getAux()];
  Value ofQuery =
      readElement(b, ids, {context.batch, alignedQuery(b, context)});
  Value ofKey = readElement(b, ids, {context.batch, context.key});
  return isEqual(b, ofQuery, ofKey);
}

Value KeyLengthsAttr::buildMaskMod(ImplicitLocOpBuilder &b,
                                   const ModContext &context) const {
  Value length = tensor::ExtractOp::create(b, context.aux[getAux()],
                                           ValueRange{context.batch});
  length = arith::IndexCastOp::create(b, b.getIndexType(), length);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, context.key,
                               length);
}

Value MaskAttr::buildMaskMod(ImplicitLocOpBuilder &b,
                             const ModContext &context) const {
  Value element =
      readElement(b, context.aux[getAux()],
                  {context.batch, context.head, context.query, context.key});
  if (element.getType().isInteger(1))
    return element;
  Value zero =
      arith::ConstantOp::create(b, b.getIntegerAttr(element.getType(), 0));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, element, zero);
}

Value SoftcapAttr::buildScoreMod(ImplicitLocOpBuilder &b, const ModContext &,
                                 Value score) const {
  double cap = getCap().getValueAsDouble();
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(
        b, b.getF32FloatAttr(static_cast<float>(value)));
  };
  Value ratio =
      arith::MulFOp::create(b, score, constant(1.0 / cap), flexible(b));
  Value tanh = math::TanhOp::create(b, ratio);
  return arith::MulFOp::create(b, tanh, constant(cap), flexible(b));
}

Value AlibiAttr::buildScoreMod(ImplicitLocOpBuilder &b,
                               const ModContext &context, Value score) const {
  Value slope = tensor::ExtractOp::create(b, context.aux[getAux()],
                                          ValueRange{context.head});
  Value distance =
      arith::SubIOp::create(b, context.key, alignedQuery(b, context));
  Value asInt = arith::IndexCastOp::create(b, b.getI32Type(), distance);
  Value asFloat = arith::SIToFPOp::create(b, b.getF32Type(), asInt);
  Value penalty = arith::MulFOp::create(
      b, slope, math::AbsFOp::create(b, asFloat), flexible(b));
  return arith::SubFOp::create(b, score, penalty, flexible(b));
}

Value BiasAttr::buildScoreMod(ImplicitLocOpBuilder &b,
                              const ModContext &context, Value score) const {
  Value element =
      readElement(b, context.aux[getAux()],
                  {context.batch, context.head, context.query, context.key});
  if (!element.getType().isF32())
    element = arith::ExtFOp::create(b, b.getF32Type(), element);
  return arith::AddFOp::create(b, score, element, flexible(b));
}
