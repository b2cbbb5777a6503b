//===- AttentionMods.cpp - code of the one-line modifications -------------===//
//
// Each modification emits the scalar code that a user would write by hand.
//
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace fa3::attention;

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Greatest extent that code adds to coordinates, whose sum has 32 bits in a
/// kernel.
static constexpr int64_t kMostKeys = int64_t(1) << 30;

LogicalResult WindowAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 std::optional<int64_t> left,
                                 std::optional<int64_t> right) {
  for (auto [name, extent] : {std::pair("left", left), {"right", right}})
    if (extent && (*extent < 0 || *extent > kMostKeys))
      return emitError() << "#attention.window expects " << name
                         << " between 0 and " << kMostKeys << ", got "
                         << *extent << "; without it that end is unbounded";
  return success();
}

LogicalResult PrefixAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t length) {
  if (length < 0 || length > kMostKeys)
    return emitError() << "#attention.prefix expects a length between 0 and "
                       << kMostKeys << ", got " << length;
  return success();
}

LogicalResult SoftcapAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  FloatAttr cap) {
  // The code holds the cap and its inverse as f32.
  float value = static_cast<float>(cap.getValueAsDouble());
  if (!(value > 0) || !std::isnormal(value) || !std::isnormal(1 / value))
    return emitError() << "#attention.softcap expects a positive cap in the "
                          "range of f32, got "
                       << cap;
  return success();
}

/// The auxiliary operand `number`, or an error if there is none of this rank.
static FailureOr<RankedTensorType> getAuxType(ForwardOp forward, StringRef mod,
                                              int64_t number, int64_t rank) {
  if (number < 0 || number >= static_cast<int64_t>(forward.getAux().size()))
    return forward.emitOpError(mod) << " reads auxiliary operand " << number
                                    << " of " << forward.getAux().size();
  auto type = cast<RankedTensorType>(forward.getAux()[number].getType());
  if (type.getRank() != rank)
    return forward.emitOpError(mod) << " expects auxiliary operand " << number
                                    << " of rank " << rank << ", got " << type;
  return type;
}

/// An extent of an auxiliary operand against what indexes it.
static LogicalResult verifyExtent(ForwardOp forward, StringRef mod,
                                  RankedTensorType type, int64_t dim,
                                  StringRef what, int64_t expected) {
  int64_t extent = type.getDimSize(dim);
  if (ShapedType::isDynamic(extent) || ShapedType::isDynamic(expected) ||
      extent == expected)
    return success();
  return forward.emitOpError(mod)
         << " expects as many entries in dimension " << dim << " as " << what
         << " (" << expected << "), got " << type;
}

LogicalResult AlibiAttr::verifyMod(Operation *op) const {
  constexpr StringLiteral mod = "#attention.alibi";
  auto forward = cast<ForwardOp>(op);
  FailureOr<RankedTensorType> type = getAuxType(forward, mod, getAux(), 1);
  if (failed(type))
    return failure();
  if (!type->getElementType().isF32())
    return op->emitOpError(mod)
           << " expects slopes of f32, got " << type->getElementType();
  auto q = cast<RankedTensorType>(forward.getQ().getType());
  return verifyExtent(forward, mod, *type, 0, "query heads",
                      q.getDimSize(forward.getHeadAxis()));
}

LogicalResult BiasAttr::verifyMod(Operation *op) const {
  constexpr StringLiteral mod = "#attention.bias";
  auto forward = cast<ForwardOp>(op);
  FailureOr<RankedTensorType> type = getAuxType(forward, mod, getAux(), 4);
  if (failed(type))
    return failure();
  Type element = type->getElementType();
  if (!element.isF16() && !element.isBF16() && !element.isF32())
    return op->emitOpError(mod)
           << " expects elements of f16, bf16 or f32, got " << element;
  auto q = cast<RankedTensorType>(forward.getQ().getType());
  auto k = cast<RankedTensorType>(forward.getK().getType());
  const std::pair<StringRef, int64_t> expected[] = {
      {"batches", q.getDimSize(0)},
      {"query heads", q.getDimSize(forward.getHeadAxis())},
      {"queries", q.getDimSize(forward.getSequenceAxis())},
      {"keys", k.getDimSize(forward.getSequenceAxis())}};
  for (auto [dim, entry] : llvm::enumerate(expected)) {
    auto [what, extent] = entry;
    if (type->getDimSize(dim) != 1 &&
        failed(verifyExtent(forward, mod, *type, dim, what, extent)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// The key position that is aligned with the query: i + (sk - sq).
static Value alignedQuery(ImplicitLocOpBuilder &b, const ModContext &context) {
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

static Value indexConstant(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value CausalAttr::buildMaskMod(ImplicitLocOpBuilder &b,
                               const ModContext &context) const {
  return notAfter(b, context.key, alignedQuery(b, context));
}

Value WindowAttr::buildMaskMod(ImplicitLocOpBuilder &b,
                               const ModContext &context) const {
  if (!getLeft() && !getRight())
    return {};
  Value center = alignedQuery(b, context);
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
  Value bias = context.aux[getAux()];
  auto type = cast<RankedTensorType>(bias.getType());
  SmallVector<Value> indices = {context.batch, context.head, context.query,
                                context.key};
  for (auto [dim, index] : llvm::enumerate(indices))
    if (type.getDimSize(dim) == 1)
      index = indexConstant(b, 0);
  Value element = tensor::ExtractOp::create(b, bias, indices);
  if (!type.getElementType().isF32())
    element = arith::ExtFOp::create(b, b.getF32Type(), element);
  return arith::AddFOp::create(b, score, element, flexible(b));
}
