//===- BackwardOp.cpp - syntax and constraints of attention.backward ------===//
// SPDX-License-Identifier: Apache-2.0
#include "OldClauses.h"
#include "ScalarRegions.h"
#include "fa3/Dialect/Attention/IR/AuxPlace.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fa3::attention;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

void BackwardOp::print(OpAsmPrinter &printer) {
  Value arrays[] = {getQ(), getK(), getV(), getO(), getLse(), getOutGrad()};
  printer << ' ';
  llvm::interleaveComma(arrays, printer);
  if (getLseGrad())
    printer << " dlse " << getLseGrad();
  if (hasScales())
    printer << " quantized(" << getCopies() << " : " << getCopies().getTypes()
            << ") scales(" << getScales() << " : " << getScales().getTypes()
            << ")";
  if (!getAux().empty())
    printer << " aux(" << getAux() << " : " << getAux().getTypes() << ")";
  if (getGradAuxAttr()) {
    printer << " grad_aux [";
    llvm::interleaveComma(getAuxNumbers(), printer);
    printer << ']';
  }
  if (getScale())
    printer << " scale " << getScale();
  printDescriptions(printer, *this);
  if (getGroup())
    printer << " group " << *getGroup();
  if (getLayout() != Layout::bhsd)
    printer << " layout " << stringifyLayout(getLayout());
  if (getMods())
    printer << " mods " << getModsAttr();
  printKeptScale(printer, *this);
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getLayoutAttrName(), getModsAttrName(),
                                 getGradAuxAttrName(), getKeptScaleAttrName(),
                                 getGroupAttrName(),
                                 getOperandSegmentSizesAttrName()});
  SmallVector<Type> types(ValueRange(arrays).getTypes());
  if (getLseGrad())
    types.push_back(getLseGrad().getType());
  printer << " : (" << types << ") -> (" << getResultTypes() << ")";
  printRegion(printer, "score_mod", getScoreMod());
  printRegion(printer, "score_grad", getScoreGradRegion());
  printRegion(printer, "mask_mod", getMaskMod());
  printRegion(printer, "keep_mod", getKeepMod());
  printRegion(printer, "epilogue", getEpilogue());
  printRegion(printer, "epilogue_grad", getEpilogueGradRegion());
}

/// `grad_aux [numbers]`, if it is there.
static ParseResult parseAuxNumbers(OpAsmParser &parser, OperationState &result,
                                   SmallVectorImpl<int64_t> &numbers) {
  if (failed(parser.parseOptionalKeyword("grad_aux")))
    return success();
  auto parseNumber = [&]() {
    return parser.parseInteger(numbers.emplace_back());
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                     parseNumber))
    return failure();
  result.addAttribute(BackwardOp::getGradAuxAttrName(result.name),
                      parser.getBuilder().getDenseI64ArrayAttr(numbers));
  return success();
}

/// What stands between the operands and the types.
static ParseResult parseAttributes(OpAsmParser &parser,
                                   OperationState &result) {
  ArrayAttr mods;
  return failure(
      parseGroup(parser, result, BackwardOp::getGroupAttrName(result.name)) ||
      parseLayout(parser, result, BackwardOp::getLayoutAttrName(result.name)) ||
      (succeeded(parser.parseOptionalKeyword("mods")) &&
       parser.parseAttribute(mods, BackwardOp::getModsAttrName(result.name),
                             result.attributes)) ||
      parseKeptScale(parser, result,
                     BackwardOp::getKeptScaleAttrName(result.name)) ||
      parser.parseOptionalAttrDict(result.attributes));
}

static ParseResult parseRegions(OpAsmParser &parser, OperationState &result,
                                OldClauses &old) {
  Builder &builder = parser.getBuilder();
  Region *score = result.addRegion(), *gradient = result.addRegion(),
         *keep = result.addRegion(), *kept = result.addRegion(),
         *epilogue = result.addRegion(), *ofEpilogue = result.addRegion();
  // Of a pair of a query and a key, or an element of o: its place, a number
  // there, and that number's gradient.
  SmallVector<Type> place(4, builder.getIndexType()),
      ofNumber = {builder.getF32Type()}, ofGradient(2, builder.getF32Type());
  ofNumber.append(place);
  ofGradient.append(place);
  if (parseOptionalRegion(parser, *score, ofNumber, "score_mod") ||
      parseOptionalRegion(parser, *gradient, ofGradient, "score_grad") ||
      parseOptionalRegion(parser, *keep, place, "mask_mod") ||
      parseOptionalRegion(parser, *kept, place, "keep_mod") ||
      parseOptionalRegion(parser, *epilogue, ofNumber, "epilogue") ||
      parseOptionalRegion(parser, *ofEpilogue, ofGradient, "epilogue_grad") ||
      old.parseSequences())
    return failure();
  return old.parseBlocks(/*withKeys=*/true);
}

namespace {
/// Reads an attention.backward, in the order in which it is written.
class BackwardParser {
public:
  BackwardParser(OpAsmParser &parser, OperationState &result)
      : parser(parser), result(result), builder(parser.getBuilder()),
        old(parser, result) {}

  ParseResult parse() {
    return failure(parseTensors() || parseValues() ||
                   parseAttributes(parser, result) || parseTypes() ||
                   parseRegions(parser, result, old) || resolveOperands());
  }

private:
  using Operand = OpAsmParser::UnresolvedOperand;
  /// Operands whose types are written beside them, and where.
  struct Typed {
    SmallVector<Operand> operands;
    SmallVector<Type> types;
    SMLoc loc;
  };

  ParseResult parseTyped(StringRef name, Typed &typed) {
    return parseTypedOperands(parser, name, typed.operands, typed.types,
                              typed.loc);
  }
  ParseResult parseTensors();
  ParseResult parseValues();
  ParseResult parseTypes();
  ParseResult resolveOperands();

  OpAsmParser &parser;
  OperationState &result;
  Builder &builder;
  /// q, k, v, o, lse and do, and perhaps dlse.
  static constexpr size_t kArrays = 6;
  SmallVector<Operand> arrays;
  Typed copies, scales, aux;
  SmallVector<Operand, 1> scale, sequences, blocks;
  SmallVector<int64_t> auxNumbers;
  FunctionType type;
  SMLoc typeLoc;
  OldClauses old;
};
} // namespace

ParseResult BackwardParser::parseTensors() {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(arrays))
    return failure();
  if (arrays.size() != kArrays)
    return parser.emitError(loc) << "expects q, k, v, o, lse and do, got "
                                 << arrays.size() << " operands";
  return parseValueOf(parser, "dlse", arrays);
}

ParseResult BackwardParser::parseValues() {
  return failure(parseTyped("quantized", copies) ||
                 parseTyped("scales", scales) || parseTyped("aux", aux) ||
                 parseAuxNumbers(parser, result, auxNumbers) ||
                 parseValueOf(parser, "scale", scale) ||
                 parseValueOf(parser, "sequences", sequences) ||
                 old.parseMaxQ() || parseValueOf(parser, "blocks", blocks));
}

ParseResult BackwardParser::parseTypes() {
  constexpr size_t kResults = 3;
  size_t results = kResults + auxNumbers.size();
  if (parser.parseColon() || parser.getCurrentLocation(&typeLoc) ||
      parser.parseType(type))
    return failure();
  if (type.getNumInputs() != arrays.size() || type.getNumResults() != results)
    return parser.emitError(typeLoc)
           << "expects " << arrays.size() << " operand types and " << results
           << " result types, got " << type.getNumInputs() << " and "
           << type.getNumResults();
  result.addTypes(type.getResults());
  return success();
}

ParseResult BackwardParser::resolveOperands() {
  auto resolve = [&](const Typed &typed) -> ParseResult {
    return parser.resolveOperands(typed.operands, typed.types, typed.loc,
                                  result.operands);
  };
  auto resolveAs = [&](ArrayRef<Operand> operands, Type type) -> ParseResult {
    return parser.resolveOperands(operands, type, result.operands);
  };
  if (parser.resolveOperands(arrays, type.getInputs(), typeLoc,
                             result.operands) ||
      resolve(copies) || resolve(scales) || resolve(aux) ||
      resolveAs(scale, builder.getF32Type()) ||
      resolveAs(sequences, SequencesType::get(builder.getContext())) ||
      resolveAs(blocks, BlocksType::get(builder.getContext())))
    return failure();
  auto count = [](const auto &operands) {
    return static_cast<int32_t>(operands.size());
  };
  SmallVector<int32_t> segments(kArrays, 1);
  segments.append({arrays.size() > kArrays ? 1 : 0, count(copies.operands),
                   count(scales.operands), count(aux.operands), count(scale),
                   count(sequences), count(blocks)});
  if (old.build(segments, segments.size() - 2))
    return failure();
  result.addAttribute(BackwardOp::getOperandSegmentSizesAttrName(result.name),
                      builder.getDenseI32ArrayAttr(segments));
  return success();
}

ParseResult BackwardOp::parse(OpAsmParser &parser, OperationState &result) {
  return BackwardParser(parser, result).parse();
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

namespace {
struct NamedTensor {
  StringRef name;
  RankedTensorType type;
};
} // namespace

/// C3: the head dims of a tensor and of another one that has the same.
static LogicalResult verifyHeadDims(BackwardOp op, NamedTensor tensor,
                                    NamedTensor other, int64_t most) {
  int64_t dim = tensor.type.getShape().back();
  if (ShapedType::isDynamic(dim))
    return op.emitOpError("expects a static head dim, that of ")
           << tensor.name << " is dynamic";
  if (dim < 8 || dim % 8 || dim > most)
    return op.emitOpError("expects a head dim that is a multiple of 8 up to ")
           << most << ", that of " << tensor.name << " is " << dim;
  if (other.type.getShape().back() != dim)
    return op.emitOpError("expects ")
           << tensor.name << " and " << other.name
           << " to agree in head dim, got " << dim << " and "
           << other.type.getShape().back();
  return success();
}

/// C4 and C5 for the extent along an axis of each tensor.
static LogicalResult
verifySameExtent(BackwardOp op, StringRef what,
                 ArrayRef<std::pair<NamedTensor, int64_t>> tensors) {
  auto [first, firstAxis] = tensors.front();
  int64_t expected = first.type.getDimSize(firstAxis);
  for (auto [tensor, axis] : tensors.drop_front())
    if (failed(verifyCompatibleDims({expected, tensor.type.getDimSize(axis)})))
      return op.emitOpError("expects ")
             << first.name << " and " << tensor.name << " to agree in " << what
             << ", got " << expected << " and " << tensor.type.getDimSize(axis);
  return success();
}

/// C16.
static LogicalResult verifyAuxNumbers(BackwardOp op) {
  ArrayRef<int64_t> numbers = op.getAuxNumbers();
  if (numbers.size() != op.getAuxGrads().size())
    return op.emitOpError("expects a result for every number of 'grad_aux', ")
           << numbers.size() << ", got " << op.getAuxGrads().size();
  auto count = static_cast<int64_t>(op.getAux().size());
  for (auto [position, number] : llvm::enumerate(numbers)) {
    if (number < 0 || number >= count)
      return op.emitOpError("expects numbers of auxiliary operands, less than ")
             << count << ", in 'grad_aux', got " << number;
    if (llvm::is_contained(numbers.take_front(position), number))
      return op.emitOpError("has number ") << number << " in 'grad_aux' twice";
    auto type = cast<RankedTensorType>(op.getAux()[number].getType());
    Type element = type.getElementType();
    if (type.getRank() == 0 ||
        (!element.isF16() && !element.isBF16() && !element.isF32()))
      return op.emitOpError("expects an auxiliary operand with a gradient to "
                            "have rank 1 or more and f16, bf16 or f32, "
                            "operand ")
             << number << " is " << type;
    Type own = op.getAuxGrads()[position].getType();
    if (own != type)
      return op.emitOpError("expects the gradient of auxiliary operand ")
             << number << " to have its type (" << type << "), got " << own;
  }
  return success();
}

/// C25 and C26.
static LogicalResult verifyListsOfBackward(BackwardOp op) {
  if (failed(verifyLists(op)))
    return failure();
  if (!op.getSizesOfBlocks())
    return success();
  for (auto [isThere, what] :
       {std::pair(op.hasLengths(), "lengths of sequences"),
        {op.getMaxQ() != nullptr, "'max_q'"},
        {!op.getAuxNumbers(/*ofEpilogue=*/false).empty(), "'grad_aux'"}})
    if (isThere)
      return op.emitOpError("expects no ") << what << " beside lists of blocks";
  return success();
}

namespace {
/// The arrays of an operation, by what their dimensions are.
struct BackwardArrays {
  BackwardArrays(BackwardOp op)
      : q(make("q", op.getQ())), k(make("k", op.getK())),
        v(make("v", op.getV())), o(make("o", op.getO())),
        outGrad(make("do", op.getOutGrad())), rows{make("lse", op.getLse())} {
    if (op.getLseGrad())
      rows.push_back(make("dlse", op.getLseGrad()));
  }

  NamedTensor q, k, v, o, outGrad;
  /// With a number for each query of each head.
  SmallVector<NamedTensor> rows;

private:
  static NamedTensor make(StringRef name, Value value) {
    return {name, cast<RankedTensorType>(value.getType())};
  }
};
} // namespace

/// C1, C2 and C3: ranks, elements and head dims.
static LogicalResult verifyTypes(BackwardOp op, const BackwardArrays &arrays) {
  int64_t queryRank = op.getPlaceRank(Sequence::query),
          keyRank = op.getPlaceRank(Sequence::key);
  if (queryRank < 2 || keyRank < 2)
    return op.emitOpError("expects '")
           << (queryRank < 2 ? "place_q" : "place_k")
           << "' to yield two indices or more";
  for (NamedTensor tensor :
       {arrays.q, arrays.k, arrays.v, arrays.o, arrays.outGrad}) {
    bool isKey = tensor.name == "k" || tensor.name == "v";
    int64_t rank = (isKey ? keyRank : queryRank) + 1;
    if (tensor.type.getRank() != rank)
      return op.emitOpError("expects ") << tensor.name << " of rank " << rank
                                        << ", got " << tensor.type.getRank();
    Type element = tensor.type.getElementType();
    if (!element.isF16() && !element.isBF16())
      return op.emitOpError("expects elements of f16 or bf16, got ") << element;
    if (element != op.getElementType())
      return op.emitOpError("expects ")
             << tensor.name << " to have the element type of q ("
             << op.getElementType() << "), got " << element;
  }
  for (NamedTensor tensor : arrays.rows)
    if (tensor.type.getRank() != queryRank ||
        !tensor.type.getElementType().isF32())
      return op.emitOpError("expects ")
             << tensor.name << " of rank " << queryRank << " and f32, got "
             << tensor.type;
  return failure(
      failed(verifyHeadDims(op, arrays.q, arrays.k, kMostQueryDim)) ||
      failed(verifyHeadDims(op, arrays.v, arrays.o, kMostValueDim)) ||
      failed(verifyHeadDims(op, arrays.v, arrays.outGrad, kMostValueDim)));
}

/// Dimensions in front of heads and rows are that of the batch, or whatever a
/// place says.
static LogicalResult verifyOuterExtents(BackwardOp op,
                                        ArrayRef<NamedTensor> tensors,
                                        Sequence sequence) {
  for (int64_t axis = 0; axis < op.getPlaceRank(sequence) - 2; ++axis) {
    SmallVector<std::pair<NamedTensor, int64_t>> extents;
    for (NamedTensor tensor : tensors)
      extents.push_back({tensor, axis});
    std::string what =
        op.hasPlace(sequence) ? "dimension " + std::to_string(axis) : "batch";
    if (failed(verifySameExtent(op, what, extents)))
      return failure();
  }
  return success();
}

/// C4 and C5: what has the same batch, heads and lengths.
static LogicalResult verifySameExtents(BackwardOp op,
                                       const BackwardArrays &arrays) {
  const auto &[q, k, v, o, outGrad, rows] = arrays;
  int64_t head = op.getHeadAxisOf(op.getQ()),
          sequence = op.getSequenceAxisOf(op.getQ()),
          keyHead = op.getHeadAxisOf(op.getK()),
          keySequence = op.getSequenceAxisOf(op.getK());
  SmallVector<std::pair<NamedTensor, int64_t>> heads = {
      {q, head}, {o, head}, {outGrad, head}};
  SmallVector<std::pair<NamedTensor, int64_t>> lengths = {
      {q, sequence}, {o, sequence}, {outGrad, sequence}};
  int64_t queryRank = op.getPlaceRank(Sequence::query);
  for (NamedTensor tensor : rows) {
    heads.push_back({tensor, queryRank - 2});
    lengths.push_back({tensor, queryRank - 1});
  }
  SmallVector<NamedTensor> ofQuery = {q, o, outGrad};
  ofQuery.append(rows);
  bool hasPlaces = op.hasPlace(Sequence::query) || op.hasPlace(Sequence::key);
  if ((!hasPlaces && failed(verifySameExtent(op, "batch", {{q, 0}, {k, 0}}))) ||
      failed(verifyOuterExtents(op, ofQuery, Sequence::query)) ||
      failed(verifyOuterExtents(op, {k, v}, Sequence::key)) ||
      failed(verifySameExtent(op, "heads", heads)) ||
      failed(verifySameExtent(op, "length", lengths)) ||
      failed(verifySameExtent(op, "heads", {{k, keyHead}, {v, keyHead}})) ||
      failed(
          verifySameExtent(op, "length", {{k, keySequence}, {v, keySequence}})))
    return failure();
  int64_t queryHeads = q.type.getDimSize(head),
          keyHeads = k.type.getDimSize(keyHead);
  if (!ShapedType::isDynamic(queryHeads) && !ShapedType::isDynamic(keyHeads) &&
      (keyHeads == 0 || queryHeads % keyHeads))
    return op.emitOpError("expects the key heads (")
           << keyHeads << ") to divide the query heads (" << queryHeads << ")";
  return verifyGroup(op, op.getGroup(), queryHeads, keyHeads);
}

LogicalResult BackwardOp::verify() {
  BackwardArrays arrays(*this);
  if (failed(verifyDescriptions(*this)) || failed(verifyTypes(*this, arrays)) ||
      failed(verifyCopies(*this)) || failed(attention::verifyExtents(*this)) ||
      failed(verifyPlaces(*this)) || failed(verifySameExtents(*this, arrays)))
    return failure();
  for (auto [tensor, name, result] :
       {std::tuple(arrays.q, "dq", Value(getDq())),
        {arrays.k, "dk", Value(getDk())},
        {arrays.v, "dv", Value(getDv())}})
    if (result.getType() != tensor.type)
      return emitOpError("expects ")
             << name << " to have the type of " << tensor.name << " ("
             << tensor.type << "), got " << result.getType();
  if (failed(verifyAuxNumbers(*this)))
    return failure();
  if (hasLengths() && !getAuxNumbers(/*ofEpilogue=*/false).empty())
    return emitOpError("expects no 'grad_aux' beside 'lengths'");
  if (failed(verifyListsOfBackward(*this)))
    return failure();
  return verifyScaleAndMods(*this);
}

LogicalResult BackwardOp::verifyRegions() {
  Builder builder(getContext());
  Type f32 = builder.getF32Type(), index = builder.getIndexType();
  if (!getScoreGradRegion().empty() && getScoreMod().empty())
    return emitOpError("expects no 'score_grad' without 'score_mod'");
  if (failed(verifyEpilogue(*this)) || failed(verifyEpilogueGrad(*this)))
    return failure();
  SmallVector<Type> gradients(1 + getAuxNumbers(/*ofEpilogue=*/false).size(),
                              f32);
  if (failed(verifyScalarRegion(*this, getScoreMod(), "score_mod",
                                {f32, index, index, index, index}, f32)) ||
      failed(verifyScalarRegion(*this, getScoreGradRegion(), "score_grad",
                                {f32, f32, index, index, index, index},
                                gradients)) ||
      failed(verifyKeepMod(*this)))
    return failure();
  for (int64_t number : getAuxNumbers()) {
    FailureOr<AuxPlace> place = getAuxPlace(*this, number);
    if (failed(place))
      return failure();
    if (place->indices.empty() && !getModsAttr())
      return emitOpError("expects 'score_mod' to read auxiliary operand ")
             << number << ", whose gradient is asked for";
  }
  return verifyScalarRegion(*this, getMaskMod(), "mask_mod",
                            {index, index, index, index}, builder.getI1Type());
}
