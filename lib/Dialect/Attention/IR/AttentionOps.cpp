//===- AttentionOps.cpp - operations of attention -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ScalarRegions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fa3::attention;

#define GET_OP_CLASSES
#include "fa3/Dialect/Attention/IR/AttentionOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

RankedTensorType ForwardOp::getMeantType(RankedTensorType type) {
  if (!hasNibbles() || type.getRank() == 0)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  if (!ShapedType::isDynamic(shape.back()))
    shape.back() *= 2;
  return RankedTensorType::get(shape, getElementType());
}

RankedTensorType ForwardOp::getValueType() {
  RankedTensorType type = getMeantType(getV().getType());
  if (!getTransposedV() || type.getRank() != 4)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  std::swap(shape[getSequenceAxisOf(getV())], shape[3]);
  return RankedTensorType::get(shape, type.getElementType());
}

/// C13 and C14.
static LogicalResult verifyScales(ForwardOp op, bool is8Bit) {
  OperandRange scales = op.getScales();
  if (scales.size() != (is8Bit ? 3 : 0))
    return op.emitOpError("expects ")
           << (is8Bit ? "scales of q, k and v with 8-bit operands"
                      : "scales with 8-bit operands only")
           << ", got " << scales.size();
  if (op.getRows() && op.getRows()->size() != 3)
    return op.emitOpError("expects three 'rows', got ") << op.getRows()->size();
  for (auto [i, value] : llvm::enumerate(scales)) {
    auto type = cast<RankedTensorType>(value.getType());
    int64_t rows = op.getScaleRows(i);
    if (type.getRank() != 3 || !type.getElementType().isF32())
      return op.emitOpError("expects scales of rank 3 and f32, got ") << type;
    if (rows < 0)
      return op.emitOpError("expects 'rows' of at least 0, got ") << rows;
    if (rows == 0 && type.getDimSize(2) != 1)
      return op.emitOpError("expects a last extent of 1 of a scale for all "
                            "rows, got ")
             << type;
  }
  return success();
}

/// C33, but for C1 to C6.
static LogicalResult verifyNibbles(ForwardOp op) {
  if (!op.hasNibbles())
    return success();
  if (op.hasScales() || op.getQv() || op.getTransposedV())
    return op.emitOpError("expects no ") << (op.hasScales() ? "scales"
                                             : op.getQv()   ? "qv"
                                                            : "transposed_v")
                                         << " beside 'nibbles'";
  if (!op.getElementType().isF16() && !op.getElementType().isBF16())
    return op.emitOpError("expects q of f16 or bf16 beside 'nibbles', got ")
           << op.getElementType();
  const std::tuple<StringRef, RankedTensorType, Value> all[] = {
      {"k", op.getK().getType(), op.getKeyScale()},
      {"v", op.getV().getType(), op.getValueScale()}};
  for (auto [name, type, scale] : all) {
    if (!type.getElementType().isSignlessInteger(8))
      return op.emitOpError("expects ")
             << name << " of i8 beside 'nibbles', got "
             << type.getElementType();
    constexpr int64_t kStep = 32, kMost = 256;
    int64_t bytes = type.getRank() ? type.getShape().back() : 0;
    if (ShapedType::isDynamic(bytes) || bytes < 1 || 2 * bytes % kStep ||
        2 * bytes > kMost)
      return op.emitOpError("expects half a multiple of ")
             << kStep << " up to " << kMost << " as the last extent of " << name
             << " beside 'nibbles', got " << type;
    auto own = cast<RankedTensorType>(scale.getType());
    SmallVector<int64_t> rows(type.getShape().drop_back());
    if (op.getLayout() == Layout::bshd && rows.size() > 1)
      std::swap(rows[rows.size() - 2], rows.back());
    if (!own.getElementType().isF32() ||
        failed(verifyCompatibleShape(own.getShape(), rows)))
      return op.emitOpError("expects scales of f32, a number for each row of ")
             << name << " (" << type << "), got " << own;
  }
  return success();
}

/// C15.
static LogicalResult verifyTerms(ForwardOp op) {
  uint64_t most = getMostTerms(op.getElementType());
  if (op.getQTerms() < 1 || op.getQTerms() > most)
    return op.emitOpError("expects 'q_terms' of 1")
           << (most > 1 ? " or 2" : "") << " with elements of "
           << op.getElementType() << ", got "
           << static_cast<int64_t>(op.getQTerms());
  return success();
}

/// C2 for q, k, v and o.
static LogicalResult
verifyElements(ForwardOp op,
               ArrayRef<std::pair<StringRef, RankedTensorType>> tensors) {
  auto isFloat8 = [](Type type) {
    return isa<Float8E4M3FNType, Float8E5M2Type>(type);
  };
  Type element = op.getElementType();
  bool isInteger = element.isSignlessInteger(8);
  bool is8Bit = isFloat8(element) || isInteger;
  if (!element.isF16() && !element.isBF16() && !is8Bit)
    return op.emitOpError(
               "expects elements of f16, bf16, f8E4M3FN, f8E5M2 or i8, got ")
           << element;
  for (auto [name, tensor] : tensors) {
    Type own = tensor.getElementType();
    if (name == "o" && !op.getEpilogue().empty()) {
      // C30.
      if (!own.isF16() && !own.isBF16() && !own.isF32() && !isFloat8(own))
        return op.emitOpError("expects o of f16, bf16, f32, f8E4M3FN or "
                              "f8E5M2 beside 'epilogue', got ")
               << own;
    } else if (is8Bit && name == "o") {
      if (!own.isF16() && !own.isBF16() && !own.isF32())
        return op.emitOpError("expects o of f16, bf16 or f32, got ") << own;
    } else if (isInteger && name == "v") {
      if (!isFloat8(own))
        return op.emitOpError("expects v of f8E4M3FN or f8E5M2 with q of i8, "
                              "got ")
               << own;
    } else if (own != element && !(name == "o" && own.isF32())) {
      return op.emitOpError("expects ")
             << name << " to have the element type of q (" << element << ")"
             << (name == "o" ? " or f32" : "") << ", got " << own;
    }
  }
  return success();
}

/// C25.
static LogicalResult verifyListsOfForward(ForwardOp op) {
  if (failed(verifyLists(op)))
    return failure();
  if (op.getSizesOfBlocks() && op.getSplits())
    return op.emitOpError("expects no splits beside lists of blocks");
  return success();
}

/// C18.
static LogicalResult verifyPlacesOfForward(ForwardOp op) {
  static constexpr StringRef names[] = {"q", "k", "v"};
  if (failed(verifyPlaces(op)))
    return failure();
  for (Sequence sequence : {Sequence::query, Sequence::key}) {
    if (!op.hasPlace(sequence))
      continue;
    StringRef place = sequence == Sequence::query ? "place_q" : "place_k";
    if (op.getTransposedV())
      return op.emitOpError("expects no transposed_v beside '") << place << "'";
    for (auto [operand, name] : llvm::enumerate(names))
      if (int64_t rows = op.getScaleRows(operand); rows && op.hasScales())
        return op.emitOpError("expects scales for whole sequences beside '")
               << place << "', got one for every "
               << (rows == 1 ? "row" : Twine(rows).concat(" rows").str())
               << " of " << name;
  }
  return success();
}

LogicalResult fa3::attention::verifyExtents(Operation *op) {
  auto check = [&](TypeRange types, StringRef what) -> LogicalResult {
    for (auto [number, type] : llvm::enumerate(types))
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        for (int64_t extent : tensor.getShape())
          if (!ShapedType::isDynamic(extent) && extent > kGreatestExtent)
            return op->emitOpError("expects extents of at most ")
                   << kGreatestExtent << ", those of " << what << ' ' << number
                   << " are " << tensor;
    return success();
  };
  return failure(failed(check(op->getOperandTypes(), "operand")) ||
                 failed(check(op->getResultTypes(), "result")));
}

/// C21: rows of o in blocks of 64, the least that a kernel computes at once.
static LogicalResult verifyBlocks(ForwardOp op) {
  constexpr int64_t kRows = 64;
  auto q = cast<RankedTensorType>(op.getQ().getType());
  int64_t queries = q.getDimSize(op.getSequenceAxis());
  if (!ShapedType::isDynamic(queries))
    queries = llvm::divideCeil(queries, kRows);
  int64_t extents[] = {q.getDimSize(0), q.getDimSize(op.getHeadAxis()),
                       queries};
  int64_t blocks = 1;
  for (int64_t extent : extents) {
    blocks *= ShapedType::isDynamic(extent) ? 1 : extent;
    if (blocks > kGreatestExtent)
      return op.emitOpError("expects at most ")
             << kGreatestExtent << " blocks of " << kRows
             << " queries in all batches and heads, got q of " << q;
  }
  return success();
}

LogicalResult fa3::attention::verifyGroup(Operation *op,
                                          std::optional<int64_t> group,
                                          int64_t heads, int64_t keyHeads) {
  if (!group)
    return success();
  if (*group < 1)
    return op->emitOpError("expects a group of at least 1 head, got ")
           << *group;
  if (ShapedType::isDynamic(heads) ||
      (heads % *group == 0 &&
       (ShapedType::isDynamic(keyHeads) || heads == keyHeads * *group)))
    return success();
  return op->emitOpError("expects groups of ")
         << *group << " query heads, one for every key head, got " << heads
         << " heads and "
         << (ShapedType::isDynamic(keyHeads) ? "any number of"
                                             : std::to_string(keyHeads))
         << " key heads";
}

/// C32.
static LogicalResult verifyPrevious(ForwardOp op) {
  if (!op.getPreviousO() && !op.getPreviousLse())
    return success();
  if (!op.getPreviousO() || !op.getPreviousLse())
    return op.emitOpError("expects both o and lse in 'previous'");
  auto o = cast<RankedTensorType>(op.getO().getType()),
       own = cast<RankedTensorType>(op.getPreviousO().getType()),
       lse = cast<RankedTensorType>(op.getPreviousLse().getType());
  Type element = own.getElementType();
  if (!element.isF16() && !element.isBF16() && !element.isF32())
    return op.emitOpError("expects previous o of f16, bf16 or f32, got ")
           << element;
  if (failed(verifyCompatibleShape(own, o)) ||
      own.getShape().back() != o.getShape().back())
    return op.emitOpError("expects previous o to have the shape of o (")
           << o << "), got " << own;
  SmallVector<int64_t> rows(o.getShape().drop_back());
  if (op.getLayout() == Layout::bshd)
    std::swap(rows[rows.size() - 2], rows.back());
  if (!lse.getElementType().isF32() ||
      failed(verifyCompatibleShape(lse.getShape(), rows)))
    return op.emitOpError("expects previous lse of f32, a number for each "
                          "query of o (")
           << o << "), got " << lse;
  return success();
}

/// C29.
static LogicalResult verifyQv(ForwardOp op) {
  if (!op.getQv())
    return success();
  RankedTensorType q = op.getQ().getType(), qv = op.getQv().getType();
  SmallVector<int64_t> expected(q.getShape());
  expected.back() = op.getValueHeadDim();
  if (op.getTransposedV())
    return op.emitOpError("expects no transposed_v beside 'qv'");
  if (op.getElementType().getIntOrFloatBitWidth() == 8)
    return op.emitOpError("expects elements of f16 or bf16 beside 'qv', got ")
           << op.getElementType();
  if (qv.getElementType() != q.getElementType())
    return op.emitOpError("expects qv to have the element type of q (")
           << q.getElementType() << "), got " << qv.getElementType();
  if (qv.getRank() != q.getRank())
    return op.emitOpError("expects qv of rank ")
           << q.getRank() << ", got " << qv.getRank();
  for (auto [dim, extent] : llvm::enumerate(expected))
    if (failed(verifyCompatibleDims({qv.getDimSize(dim), extent})) ||
        (dim + 1 == expected.size() && qv.isDynamicDim(dim)))
      return op.emitOpError("expects extent ")
             << extent << " in dimension " << dim << " of qv, got "
             << (qv.isDynamicDim(dim) ? "a dynamic one"
                                      : std::to_string(qv.getDimSize(dim)));
  if (op.getScoreDim() > kMostQueryDim)
    return op.emitOpError("expects at most ")
           << kMostQueryDim << " columns of q and qv together, got "
           << op.getScoreDim();
  return success();
}

namespace {
/// The arrays of an operation, by what their dimensions are.
struct ForwardArrays {
  using Named = std::pair<StringRef, RankedTensorType>;

  ForwardArrays(ForwardOp op)
      : q("q", getType(op.getQ())),
        k("k", op.getMeantType(op.getK().getType())), v("v", op.getValueType()),
        o("o", getType(op.getO())) {
    const std::pair<StringRef, Value> values[] = {
        {"lse", op.getLse()}, {"max_logits", op.getMaxLogits()}};
    for (auto [name, value] : values)
      if (value)
        rows.emplace_back(name, getType(value));
  }
  std::array<Named, 4> all() const { return {q, k, v, o}; }

  Named q, k, v, o;
  /// With a number for each query of each head.
  SmallVector<Named> rows;

private:
  static RankedTensorType getType(Value value) {
    return cast<RankedTensorType>(value.getType());
  }
};
} // namespace

/// C1 and C2: ranks and elements.
static LogicalResult verifyTypes(ForwardOp op, const ForwardArrays &arrays) {
  int64_t queryRank = op.getPlaceRank(Sequence::query),
          keyRank = op.getPlaceRank(Sequence::key);
  if (queryRank < 2 || keyRank < 2)
    return op.emitOpError("expects '")
           << (queryRank < 2 ? "place_q" : "place_k")
           << "' to yield two indices or more";
  for (auto [name, tensor] : arrays.all()) {
    int64_t rank = (name == "k" || name == "v" ? keyRank : queryRank) + 1;
    if (tensor.getRank() != rank)
      return op.emitOpError("expects ")
             << name << " of rank " << rank << ", got " << tensor.getRank();
  }
  for (auto [name, tensor] : arrays.rows)
    if (tensor.getRank() != queryRank)
      return op.emitOpError("expects ") << name << " of rank " << queryRank
                                        << ", got " << tensor.getRank();
  if (failed(verifyElements(op, arrays.all())))
    return failure();
  for (auto [name, tensor] : arrays.rows)
    if (!tensor.getElementType().isF32())
      return op.emitOpError("expects ")
             << name << " of f32, got " << tensor.getElementType();
  return success();
}

/// C3: head dims.
static LogicalResult verifyHeadDims(ForwardOp op, const ForwardArrays &arrays) {
  bool is8Bit = op.getElementType().getIntOrFloatBitWidth() == 8;
  const ForwardArrays::Named &ofScores =
      op.getQTerms() == 1 ? arrays.q : arrays.k;
  for (auto [name, tensor] : {ofScores, arrays.v}) {
    int64_t dim = tensor.getShape().back();
    if (ShapedType::isDynamic(dim))
      return op.emitOpError("expects a static head dim, that of ")
             << name << " is dynamic";
    if (is8Bit && (dim < 16 || dim % 16 || dim > 256))
      return op.emitOpError(
                 "expects a head dim that is a multiple of 16 up to 256, "
                 "that of ")
             << name << " is " << dim;
    int64_t most = name == arrays.v.first ? kMostValueDim : kMostQueryDim;
    if (dim < 1 || dim > most)
      return op.emitOpError("expects a head dim from 1 to ")
             << most << ", that of " << name << " is " << dim;
  }
  for (auto [first, second] :
       {std::pair(ofScores, arrays.k), {arrays.v, arrays.o}})
    if (first.second.getShape().back() != second.second.getShape().back())
      return op.emitOpError("expects ")
             << first.first << " and " << second.first
             << " to agree in head dim, got " << first.second.getShape().back()
             << " and " << second.second.getShape().back();
  int64_t columns = op.getQTerms() * op.getHeadDim();
  if (arrays.q.second.getShape().back() != columns)
    return op.emitOpError("expects q to have ")
           << columns << " columns, " << op.getQTerms()
           << " for each element of k, got "
           << arrays.q.second.getShape().back();
  return success();
}

/// C4 and C5: what has the same batch, heads and lengths.
static LogicalResult verifySameExtents(ForwardOp op,
                                       const ForwardArrays &arrays) {
  RankedTensorType q = arrays.q.second;
  bool hasPlaces = op.hasPlace(Sequence::query) || op.hasPlace(Sequence::key);
  for (auto [name, tensor] : arrays.all())
    if (!hasPlaces &&
        failed(verifyCompatibleDims({q.getDimSize(0), tensor.getDimSize(0)})))
      return op.emitOpError("expects ")
             << name << " to have the batch extent of q (" << q.getDimSize(0)
             << "), got " << tensor.getDimSize(0);

  auto agree = [&](StringRef what, const ForwardArrays::Named &first,
                   const ForwardArrays::Named &second,
                   int64_t axis) -> LogicalResult {
    int64_t extent = first.second.getDimSize(axis);
    if (succeeded(
            verifyCompatibleDims({extent, second.second.getDimSize(axis)})))
      return success();
    return op.emitOpError("expects ")
           << first.first << " and " << second.first << " to agree in " << what
           << ", got " << extent << " and " << second.second.getDimSize(axis);
  };
  int64_t headOfQ = op.getHeadAxisOf(op.getQ()),
          headOfK = op.getHeadAxisOf(op.getK()),
          queryAxis = op.getSequenceAxisOf(op.getQ()),
          keyAxis = op.getSequenceAxisOf(op.getK());
  if (failed(agree("heads", arrays.k, arrays.v, headOfK)) ||
      failed(agree("heads", arrays.q, arrays.o, headOfQ)) ||
      failed(agree("length", arrays.k, arrays.v, keyAxis)) ||
      failed(agree("length", arrays.q, arrays.o, queryAxis)))
    return failure();
  SmallVector<int64_t> expected(q.getShape().drop_back());
  if (headOfQ > queryAxis)
    std::swap(expected[headOfQ], expected[queryAxis]);
  for (auto [name, tensor] : arrays.rows)
    for (auto [dim, extent] : llvm::enumerate(expected))
      if (failed(verifyCompatibleDims({tensor.getDimSize(dim), extent})))
        return op.emitOpError("expects extent ")
               << extent << " in dimension " << dim << " of " << name
               << ", got " << tensor.getDimSize(dim);
  return success();
}

/// C6: groups of heads.
static LogicalResult verifyHeads(ForwardOp op, int64_t heads,
                                 int64_t keyHeads) {
  if (!ShapedType::isDynamic(heads) && !ShapedType::isDynamic(keyHeads) &&
      (keyHeads == 0 || heads % keyHeads))
    return op.emitOpError("expects the key heads (")
           << keyHeads << ") to divide the query heads (" << heads << ")";
  return verifyGroup(op, op.getGroup(), heads, keyHeads);
}

/// A number of parts, and a sink for every head.
static LogicalResult verifySplitsAndSinks(ForwardOp op, int64_t heads) {
  APInt splits;
  if (op.getSplits() && matchPattern(op.getSplits(), m_ConstantInt(&splits)) &&
      splits.isNegative())
    return op.emitOpError("expects splits of at least 0, got ")
           << splits.getSExtValue();
  if (!op.getSinks())
    return success();
  auto sinks = cast<RankedTensorType>(op.getSinks().getType());
  if (sinks.getRank() != 1 || !sinks.getElementType().isF32())
    return op.emitOpError("expects sinks of rank 1 and f32, got ") << sinks;
  if (failed(verifyCompatibleDims({sinks.getDimSize(0), heads})))
    return op.emitOpError("expects a sink for every query head (")
           << heads << "), got " << sinks.getDimSize(0);
  return success();
}

LogicalResult ForwardOp::verify() {
  ForwardArrays arrays(*this);
  if (failed(verifyDescriptions(*this)) || failed(verifyNibbles(*this)) ||
      failed(verifyTypes(*this, arrays)))
    return failure();
  bool is8Bit = getElementType().getIntOrFloatBitWidth() == 8;
  if (failed(verifyScales(*this, is8Bit)) || failed(verifyTerms(*this)) ||
      failed(verifyExtents(*this)) || failed(verifyBlocks(*this)) ||
      failed(verifyHeadDims(*this, arrays)) || failed(verifyQv(*this)) ||
      failed(verifyPlacesOfForward(*this)) ||
      failed(verifyListsOfForward(*this)) || failed(verifyPlain(*this)) ||
      failed(verifyPrevious(*this)) || failed(verifySameExtents(*this, arrays)))
    return failure();
  int64_t heads = arrays.q.second.getDimSize(getHeadAxisOf(getQ())),
          keyHeads = arrays.k.second.getDimSize(getHeadAxisOf(getK()));
  if (failed(verifyHeads(*this, heads, keyHeads)) ||
      failed(verifySplitsAndSinks(*this, heads)))
    return failure();
  return verifyScaleAndMods(*this);
}

std::optional<int64_t> ForwardOp::getStaticGroup() {
  if (std::optional<int64_t> group = getGroup())
    return group;
  int64_t heads = getQ().getType().getDimSize(getHeadAxisOf(getQ())),
          keyHeads = getK().getType().getDimSize(getHeadAxisOf(getK()));
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(keyHeads))
    return std::nullopt;
  return heads / keyHeads;
}

LogicalResult ForwardOp::verifyRegions() {
  Builder builder(getContext());
  Type f32 = builder.getF32Type(), index = builder.getIndexType();
  if (failed(verifyScalarRegion(*this, getScoreMod(), "score_mod",
                                {f32, index, index, index, index}, f32)) ||
      failed(verifyScalarRegion(*this, getMaskMod(), "mask_mod",
                                {index, index, index, index},
                                builder.getI1Type())) ||
      failed(verifyKeepMod(*this)))
    return failure();
  return verifyEpilogue(*this);
}

LogicalResult LengthOp::verify() {
  if (!isa<ScoredOpInterface, SequencesOp, BlocksOp, ListBlocksOp>(
          (*this)->getParentOp()))
    return emitOpError("expects to lie in a region of 'attention.forward', "
                       "'attention.backward', 'attention.sequences', "
                       "'attention.blocks' or 'attention.list_blocks'");
  return success();
}

LogicalResult HeadsOp::verify() {
  auto op = (*this)->getParentOfType<ScoredOpInterface>();
  if (!op || !op.getKeepMod().isAncestor((*this)->getParentRegion()))
    return emitOpError("expects to lie in 'keep_mod' of 'attention.forward' or "
                       "'attention.backward'");
  return success();
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

void ForwardOp::build(OpBuilder &builder, OperationState &state, Value q,
                      Value k, Value v, ArrayRef<Attribute> mods,
                      ValueRange aux, Value scale, Layout layout,
                      bool withLse) {
  auto query = cast<RankedTensorType>(q.getType());
  auto value = cast<RankedTensorType>(v.getType());
  SmallVector<int64_t> shape(query.getShape());
  shape.back() = value.getShape().back();
  Type o = RankedTensorType::get(shape, query.getElementType()), lse, plain;
  if (withLse) {
    shape.pop_back();
    if (layout == Layout::bshd && shape.size() >= 2)
      std::swap(shape[shape.size() - 2], shape.back());
    lse = RankedTensorType::get(shape, builder.getF32Type());
  }
  build(builder, state, o, lse, plain, /*maxLogits=*/Type(), q, k, v,
        /*qv=*/Value(), aux, scale,
        /*scales=*/ValueRange(), /*sequences=*/Value(), /*blocks=*/Value(),
        /*splits=*/Value(),
        /*sinks=*/Value(), /*previousO=*/Value(), /*previousLse=*/Value(),
        /*keyScale=*/Value(), /*valueScale=*/Value(), DenseI64ArrayAttr(),
        /*qTerms=*/builder.getI64IntegerAttr(1),
        LayoutAttr::get(builder.getContext(), layout), UnitAttr(),
        mods.empty() ? ArrayAttr() : builder.getArrayAttr(mods), FloatAttr(),
        /*group=*/IntegerAttr(),
        /*keptScale=*/FloatAttr());
}
