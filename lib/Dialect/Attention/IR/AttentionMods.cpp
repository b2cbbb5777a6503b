//===- AttentionMods.cpp - code of the one-line modifications -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each modification emits the scalar code that a user would write by hand.
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
                                 std::optional<int64_t> right, Alignment) {
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

LogicalResult ChunkAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t size) {
  if (size < 1 || size > kMostKeys)
    return emitError() << "#attention.chunk expects a size between 1 and "
                       << kMostKeys << ", got " << size;
  return success();
}

LogicalResult DilationAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t step) {
  if (step < 1 || step > kMostKeys)
    return emitError() << "#attention.dilation expects a step between 1 and "
                       << kMostKeys << ", got " << step;
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
static FailureOr<RankedTensorType> getAuxType(Operation *op, ValueRange aux,
                                              StringRef mod, int64_t number,
                                              int64_t rank) {
  if (number < 0 || number >= static_cast<int64_t>(aux.size()))
    return op->emitOpError(mod)
           << " reads auxiliary operand " << number << " of " << aux.size();
  auto type = cast<RankedTensorType>(aux[number].getType());
  if (type.getRank() != rank)
    return op->emitOpError(mod) << " expects auxiliary operand " << number
                                << " of rank " << rank << ", got " << type;
  return type;
}

static FailureOr<RankedTensorType>
getAuxType(ScoredOpInterface op, StringRef mod, int64_t number, int64_t rank) {
  return getAuxType(op.getOperation(), op.getAux(), mod, number, rank);
}

/// An extent of an auxiliary operand against what indexes it.
static LogicalResult verifyExtent(ScoredOpInterface op, StringRef mod,
                                  RankedTensorType type, int64_t dim,
                                  StringRef what, int64_t expected) {
  int64_t extent = type.getDimSize(dim);
  if (ShapedType::isDynamic(extent) || ShapedType::isDynamic(expected) ||
      extent == expected)
    return success();
  return op->emitOpError(mod)
         << " expects as many entries in dimension " << dim << " as " << what
         << " (" << expected << "), got " << type;
}

LogicalResult AlibiAttr::verifyMod(Operation *op) const {
  constexpr StringLiteral mod = "#attention.alibi";
  auto scored = cast<ScoredOpInterface>(op);
  FailureOr<RankedTensorType> type = getAuxType(scored, mod, getAux(), 1);
  if (failed(type))
    return failure();
  if (!type->getElementType().isF32())
    return op->emitOpError(mod)
           << " expects slopes of f32, got " << type->getElementType();
  auto q = cast<RankedTensorType>(scored.getQ().getType());
  return verifyExtent(scored, mod, *type, 0, "query heads",
                      q.getDimSize(scored.getHeadAxisOf(scored.getQ())));
}

/// An extent of q or k. Of what has a place the extents are no lengths.
static int64_t getExtent(ScoredOpInterface scored, Sequence sequence,
                         int64_t axis) {
  auto forward = dyn_cast<ForwardOp>(scored.getOperation());
  if (forward && forward.hasPlace(sequence))
    return ShapedType::kDynamic;
  Value array = sequence == Sequence::query ? scored.getQ() : scored.getK();
  return cast<RankedTensorType>(array.getType()).getDimSize(axis);
}

static int64_t getBatch(ScoredOpInterface scored) {
  return getExtent(scored, Sequence::query, 0);
}

static int64_t getKeys(ScoredOpInterface scored) {
  return getExtent(scored, Sequence::key,
                   scored.getSequenceAxisOf(scored.getK()));
}

/// Extents of an auxiliary operand with an element for every score.
static LogicalResult verifyScoreExtents(ScoredOpInterface scored, StringRef mod,
                                        RankedTensorType type) {
  auto q = cast<RankedTensorType>(scored.getQ().getType());
  const std::pair<StringRef, int64_t> expected[] = {
      {"batches", getBatch(scored)},
      {"query heads", q.getDimSize(scored.getHeadAxisOf(scored.getQ()))},
      {"queries", getExtent(scored, Sequence::query,
                            scored.getSequenceAxisOf(scored.getQ()))},
      {"keys", getKeys(scored)}};
  for (auto [dim, entry] : llvm::enumerate(expected)) {
    auto [what, extent] = entry;
    if (type.getDimSize(dim) != 1 &&
        failed(verifyExtent(scored, mod, type, dim, what, extent)))
      return failure();
  }
  return success();
}

LogicalResult BiasAttr::verifyMod(Operation *op) const {
  constexpr StringLiteral mod = "#attention.bias";
  auto scored = cast<ScoredOpInterface>(op);
  FailureOr<RankedTensorType> type = getAuxType(scored, mod, getAux(), 4);
  if (failed(type))
    return failure();
  Type element = type->getElementType();
  if (!element.isF16() && !element.isBF16() && !element.isF32())
    return op->emitOpError(mod)
           << " expects elements of f16, bf16 or f32, got " << element;
  return verifyScoreExtents(scored, mod, *type);
}

/// The auxiliary operand `number`, or an error if it has no integers.
static FailureOr<RankedTensorType> getIntegerAuxType(ScoredOpInterface scored,
                                                     StringRef mod,
                                                     int64_t number,
                                                     int64_t rank) {
  FailureOr<RankedTensorType> type = getAuxType(scored, mod, number, rank);
  if (failed(type) || type->getElementType().isSignlessInteger())
    return type;
  return scored->emitOpError(mod)
         << " expects integers, got " << type->getElementType();
}

LogicalResult MaskAttr::verifyMod(Operation *op) const {
  constexpr StringLiteral mod = "#attention.mask";
  auto scored = cast<ScoredOpInterface>(op);
  FailureOr<RankedTensorType> type =
      getIntegerAuxType(scored, mod, getAux(), 4);
  return failed(type) ? failure() : verifyScoreExtents(scored, mod, *type);
}

LogicalResult DocumentAttr::verifyMod(Operation *op) const {
  constexpr StringLiteral mod = "#attention.document";
  auto scored = cast<ScoredOpInterface>(op);
  FailureOr<RankedTensorType> type =
      getIntegerAuxType(scored, mod, getAux(), 2);
  if (failed(type))
    return failure();
  if (type->getDimSize(0) != 1 &&
      failed(verifyExtent(scored, mod, *type, 0, "batches", getBatch(scored))))
    return failure();
  return verifyExtent(scored, mod, *type, 1, "keys", getKeys(scored));
}

LogicalResult KeyLengthsAttr::verifyMod(Operation *op) const {
  constexpr StringLiteral mod = "#attention.key_lengths";
  auto scored = cast<ScoredOpInterface>(op);
  FailureOr<RankedTensorType> type =
      getIntegerAuxType(scored, mod, getAux(), 1);
  if (failed(type))
    return failure();
  return verifyExtent(scored, mod, *type, 0, "batches", getBatch(scored));
}

/// Auxiliary operand `number` holds integers for something.
static LogicalResult verifyIntegers(Operation *op, StringRef mod,
                                    int64_t number, int64_t rank) {
  ValueRange aux;
  if (auto forward = dyn_cast<ForwardOp>(op))
    aux = forward.getAux();
  else if (auto append = dyn_cast<AppendOp>(op))
    aux = append.getAux();
  else
    return op->emitOpError(mod) << " is a modification of 'attention.forward' "
                                   "only";
  FailureOr<RankedTensorType> type = getAuxType(op, aux, mod, number, rank);
  if (failed(type))
    return failure();
  if (!type->getElementType().isInteger(32))
    return op->emitOpError(mod)
           << " expects elements of i32, got " << type->getElementType();
  return success();
}

static LogicalResult verifyOneOrTwo(Operation *op, StringRef mod,
                                    std::optional<int64_t> q,
                                    std::optional<int64_t> k) {
  if (!q && !k)
    return op->emitOpError(mod) << " expects q or k, got neither";
  for (std::optional<int64_t> number : {q, k})
    if (number && failed(verifyIntegers(op, mod, *number, 1)))
      return failure();
  return success();
}

LogicalResult UsedAttr::verifyMod(Operation *op) const {
  return verifyOneOrTwo(op, "#attention.used", getQ(), getK());
}

LogicalResult PackedAttr::verifyMod(Operation *op) const {
  return verifyOneOrTwo(op, "#attention.packed", getQ(), getK());
}

LogicalResult BatchIndexAttr::verifyMod(Operation *op) const {
  return verifyIntegers(op, "#attention.batch_index", getAux(), 1);
}

LogicalResult LeftPadAttr::verifyMod(Operation *op) const {
  return verifyIntegers(op, "#attention.leftpad", getAux(), 1);
}

LogicalResult BlocksAttr::verifyMod(Operation *op) const {
  constexpr StringLiteral mod = "#attention.blocks";
  if (getFullCount().has_value() != getFullIndex().has_value())
    return op->emitOpError(mod)
           << " expects full_count and full_index together";
  auto verifyList = [&](int64_t count, int64_t index) -> LogicalResult {
    if (failed(verifyIntegers(op, mod, count, 3)) ||
        failed(verifyIntegers(op, mod, index, 4)))
      return failure();
    auto forward = cast<ForwardOp>(op);
    auto counts = cast<RankedTensorType>(forward.getAux()[count].getType());
    auto indices = cast<RankedTensorType>(forward.getAux()[index].getType());
    for (int64_t dim = 0; dim < 3; ++dim)
      if (failed(verifyExtent(forward, mod, counts, dim, "its indices",
                              indices.getDimSize(dim))))
        return failure();
    return success();
  };
  if (failed(verifyList(getCount(), getIndex())))
    return failure();
  return getFullCount() ? verifyList(*getFullCount(), *getFullIndex())
                        : success();
}

LogicalResult PagedAttr::verifyMod(Operation *op) const {
  if (failed(verifyIntegers(op, "#attention.paged", getTable(), 2)))
    return failure();
  RankedTensorType k;
  int64_t axis;
  if (auto append = dyn_cast<AppendOp>(op)) {
    k = append.getCache().getType();
    axis = AppendOp::getRowAxis(append.getLayout(), k.getRank());
  } else {
    auto forward = cast<ForwardOp>(op);
    k = forward.getK().getType();
    axis = forward.getSequenceAxisOf(forward.getK());
  }
  if (k.isDynamicDim(axis))
    return op->emitOpError("#attention.paged expects a static number of rows "
                           "in a page, got ")
           << k;
  return success();
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

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

static Value indexConstant(ImplicitLocOpBuilder &b, int64_t value) {
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

/// An element of an auxiliary operand; index 0 along a static extent of 1 of
/// the first dimensions.
static Value readElement(ImplicitLocOpBuilder &b, Value tensor,
                         SmallVector<Value> indices, size_t shared = 4) {
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

//===----------------------------------------------------------------------===//
// Lengths and places
//===----------------------------------------------------------------------===//

using Lengths = std::pair<Value, Value>;

/// An integer of an auxiliary operand, as an index.
static Value loadInteger(ImplicitLocOpBuilder &b, Value aux,
                         ValueRange indices) {
  Value element = tensor::ExtractOp::create(b, aux, indices);
  return arith::IndexCastOp::create(b, b.getIndexType(), element);
}

/// No more than the array has rows.
static Value atMostExtent(ImplicitLocOpBuilder &b, Value length,
                          Sequence sequence) {
  Value extent = LengthOp::create(b, b.getIndexType(), sequence);
  return length ? arith::MinSIOp::create(b, length, extent).getResult()
                : extent;
}

bool UsedAttr::hasLengths() const { return true; }

Lengths UsedAttr::buildLengths(ImplicitLocOpBuilder &b,
                               const ModContext &context, Value queries,
                               Value keys) const {
  if (getQ())
    queries = loadInteger(b, context.aux[*getQ()], context.batch);
  if (getK())
    keys = loadInteger(b, context.aux[*getK()], context.batch);
  return {queries, keys};
}

static Value buildPackedLength(ImplicitLocOpBuilder &b,
                               const ModContext &context, int64_t starts,
                               Sequence sequence) {
  Value next = arith::AddIOp::create(b, context.batch, indexConstant(b, 1));
  Value first = loadInteger(b, context.aux[starts], context.batch);
  Value end = loadInteger(b, context.aux[starts], next);
  return atMostExtent(b, arith::SubIOp::create(b, end, first), sequence);
}

bool PackedAttr::hasLengths() const { return true; }
bool PackedAttr::hasPlace(Sequence sequence) const {
  return (sequence == Sequence::query ? getQ() : getK()).has_value();
}
int64_t PackedAttr::getPlaceRank(Sequence sequence, int64_t rank) const {
  return hasPlace(sequence) ? rank - 1 : rank;
}

Lengths PackedAttr::buildLengths(ImplicitLocOpBuilder &b,
                                 const ModContext &context, Value queries,
                                 Value keys) const {
  if (getQ())
    queries = buildPackedLength(b, context, *getQ(), Sequence::query);
  if (getK())
    keys = buildPackedLength(b, context, *getK(), Sequence::key);
  return {queries, keys};
}

SmallVector<Value> PackedAttr::buildPlace(ImplicitLocOpBuilder &b,
                                          const ModContext &context,
                                          Sequence sequence,
                                          ValueRange place) const {
  std::optional<int64_t> starts = sequence == Sequence::query ? getQ() : getK();
  if (!starts)
    return llvm::to_vector(place);
  SmallVector<Value> result(place.drop_front());
  Value first = loadInteger(b, context.aux[*starts], place.front());
  result.back() = arith::AddIOp::create(b, first, result.back());
  return result;
}

bool BatchIndexAttr::hasPlace(Sequence sequence) const {
  return sequence == Sequence::key;
}

SmallVector<Value> BatchIndexAttr::buildPlace(ImplicitLocOpBuilder &b,
                                              const ModContext &context,
                                              Sequence sequence,
                                              ValueRange place) const {
  SmallVector<Value> result(place);
  if (hasPlace(sequence))
    result.front() = loadInteger(b, context.aux[getAux()], place.front());
  return result;
}

std::optional<std::pair<int64_t, int64_t>> BlocksAttr::getBlockSizes() const {
  return std::pair(getQueries(), getKeys());
}

SmallVector<Value> BlocksAttr::buildBlocks(ImplicitLocOpBuilder &b,
                                           const ModContext &context) const {
  auto read = [&](int64_t aux, ArrayRef<Value> indices) -> Value {
    Value element =
        readElement(b, context.aux[aux], SmallVector<Value>(indices), 2);
    return arith::IndexCastOp::create(b, b.getIndexType(), element);
  };
  SmallVector<Value> place = {context.batch, context.head, context.query};
  SmallVector<Value> entry = place;
  entry.push_back(context.key);
  Value count = read(getCount(), place), number = read(getIndex(), entry);
  if (!getFullCount())
    return {count, number, indexConstant(b, 0), indexConstant(b, 0)};
  return {count, number, read(*getFullCount(), place),
          read(*getFullIndex(), entry)};
}

bool LeftPadAttr::hasLengths() const { return true; }
bool LeftPadAttr::hasPlace(Sequence sequence) const {
  return sequence == Sequence::key;
}

Lengths LeftPadAttr::buildLengths(ImplicitLocOpBuilder &b,
                                  const ModContext &context, Value queries,
                                  Value keys) const {
  if (!keys)
    keys = LengthOp::create(b, b.getIndexType(), Sequence::key);
  Value pad = loadInteger(b, context.aux[getAux()], context.batch);
  return {queries, arith::SubIOp::create(b, keys, pad)};
}

SmallVector<Value> LeftPadAttr::buildPlace(ImplicitLocOpBuilder &b,
                                           const ModContext &context,
                                           Sequence sequence,
                                           ValueRange place) const {
  SmallVector<Value> result(place);
  if (!hasPlace(sequence))
    return result;
  Value pad = loadInteger(b, context.aux[getAux()], context.batch);
  result.back() = arith::AddIOp::create(b, result.back(), pad);
  return result;
}

bool PagedAttr::hasLengths() const { return true; }
bool PagedAttr::hasPlace(Sequence sequence) const {
  return sequence == Sequence::key;
}

Lengths PagedAttr::buildLengths(ImplicitLocOpBuilder &b,
                                const ModContext &context, Value queries,
                                Value keys) const {
  Value pages = tensor::DimOp::create(b, context.aux[getTable()], 1);
  Value room =
      arith::MulIOp::create(b, pages, indexConstant(b, context.keyExtent));
  return {queries,
          keys ? arith::MinSIOp::create(b, keys, room).getResult() : room};
}

SmallVector<Value> PagedAttr::buildPlace(ImplicitLocOpBuilder &b,
                                         const ModContext &context,
                                         Sequence sequence,
                                         ValueRange place) const {
  SmallVector<Value> result(place);
  if (!hasPlace(sequence))
    return result;
  Value rows = indexConstant(b, context.keyExtent), row = place.back();
  Value page = arith::DivUIOp::create(b, row, rows);
  Value pages = tensor::DimOp::create(b, context.aux[getTable()], 1);
  Value batch = place.front(), exists;
  auto isBelow = [&](Value number, Value count) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, count);
  };
  if (context.isWritten) {
    exists = isBelow(page, pages);
    page = arith::SelectOp::create(b, exists, page, indexConstant(b, 0));
  } else {
    // Keys behind the last page have no entry; a row of it may be asked for.
    Value last = arith::SubIOp::create(b, pages, indexConstant(b, 1));
    page = arith::MinSIOp::create(b, page, last);
  }
  if (batch != context.batch) {
    // A number that another array holds, and that may be any.
    Value count = tensor::DimOp::create(b, context.aux[getTable()], 0);
    if (exists)
      exists = arith::AndIOp::create(b, exists, isBelow(batch, count));
    Value most = arith::SubIOp::create(b, count, indexConstant(b, 1));
    batch = arith::MaxSIOp::create(b, batch, indexConstant(b, 0));
    batch = arith::MinSIOp::create(b, batch, most);
  }
  result.front() =
      loadInteger(b, context.aux[getTable()], ValueRange{batch, page});
  if (exists)
    result.front() = arith::SelectOp::create(b, exists, result.front(),
                                             indexConstant(b, -1));
  result.back() = arith::RemUIOp::create(b, row, rows);
  return result;
}
