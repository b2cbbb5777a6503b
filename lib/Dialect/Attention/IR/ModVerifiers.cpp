//===- ModVerifiers.cpp - what one-line modifications expect --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Numbers of a modification, and the auxiliary operands that it reads.
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Attention/IR/Attention.h"
#include <cmath>

using namespace mlir;
using namespace fa3::attention;

LogicalResult WindowAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 std::optional<int64_t> left,
                                 std::optional<int64_t> right, Alignment) {
  for (auto [name, extent] : {std::pair("left", left), {"right", right}})
    if (extent && (*extent < 0 || *extent > kGreatestExtent))
      return emitError() << "#attention.window expects " << name
                         << " between 0 and " << kGreatestExtent << ", got "
                         << *extent << "; without it that end is unbounded";
  return success();
}

LogicalResult PrefixAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t length) {
  if (length < 0 || length > kGreatestExtent)
    return emitError() << "#attention.prefix expects a length between 0 and "
                       << kGreatestExtent << ", got " << length;
  return success();
}

LogicalResult ChunkAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t size) {
  if (size < 1 || size > kGreatestExtent)
    return emitError() << "#attention.chunk expects a size between 1 and "
                       << kGreatestExtent << ", got " << size;
  return success();
}

LogicalResult DilationAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t step) {
  if (step < 1 || step > kGreatestExtent)
    return emitError() << "#attention.dilation expects a step between 1 and "
                       << kGreatestExtent << ", got " << step;
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

LogicalResult DropoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  FloatAttr p, int64_t) {
  if (getKeptShare(p.getValueAsDouble()))
    return success();
  return emitError() << "#attention.dropout expects p from 0 to less than 1, "
                        "got "
                     << p;
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
  if (scored.hasPlace(sequence))
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

LogicalResult DropoutAttr::verifyMod(Operation *op) const {
  constexpr StringLiteral mod = "#attention.dropout";
  auto scored = cast<ScoredOpInterface>(op);
  FailureOr<RankedTensorType> type = getAuxType(scored, mod, getAux(), 1);
  if (failed(type))
    return failure();
  if (!type->getElementType().isInteger(64))
    return op->emitOpError(mod)
           << " expects seed and offset of i64, got " << type->getElementType();
  return verifyExtent(scored, mod, *type, 0, "seed and offset", 2);
}

/// Auxiliary operand `number` holds integers for something.
static LogicalResult verifyIntegers(Operation *op, StringRef mod,
                                    int64_t number, int64_t rank,
                                    bool hasGradients = false) {
  ValueRange aux;
  auto scored = dyn_cast<ScoredOpInterface>(op);
  if (scored && (hasGradients || isa<ForwardOp>(op)))
    aux = scored.getAux();
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
    if (number && failed(verifyIntegers(op, mod, *number, 1,
                                        /*hasGradients=*/true)))
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
  return verifyIntegers(op, "#attention.leftpad", getAux(), 1,
                        /*hasGradients=*/true);
}

LogicalResult BlocksAttr::verifyMod(Operation *op) const {
  constexpr StringLiteral mod = "#attention.blocks";
  if (getFullCount().has_value() != getFullIndex().has_value())
    return op->emitOpError(mod)
           << " expects full_count and full_index together";
  auto verifyList = [&](int64_t count, int64_t index) -> LogicalResult {
    if (failed(verifyIntegers(op, mod, count, 3, /*hasGradients=*/true)) ||
        failed(verifyIntegers(op, mod, index, 4, /*hasGradients=*/true)))
      return failure();
    auto scored = cast<ScoredOpInterface>(op);
    auto counts = cast<RankedTensorType>(scored.getAux()[count].getType());
    auto indices = cast<RankedTensorType>(scored.getAux()[index].getType());
    for (int64_t dim = 0; dim < 3; ++dim)
      if (failed(verifyExtent(scored, mod, counts, dim, "its indices",
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
