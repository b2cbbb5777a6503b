//===- BackwardOp.cpp - syntax and constraints of attention.backward ------===//
// SPDX-License-Identifier: Apache-2.0
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
  if (!getAux().empty())
    printer << " aux(" << getAux() << " : " << getAux().getTypes() << ")";
  if (getGradAuxAttr()) {
    printer << " grad_aux [";
    llvm::interleaveComma(getAuxNumbers(), printer);
    printer << ']';
  }
  if (getScale())
    printer << " scale " << getScale();
  if (getLayout() != Layout::bhsd)
    printer << " layout " << stringifyLayout(getLayout());
  if (getMods())
    printer << " mods " << getModsAttr();
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getLayoutAttrName(), getModsAttrName(),
                                 getGradAuxAttrName(),
                                 getOperandSegmentSizesAttrName()});
  SmallVector<Type> types(ValueRange(arrays).getTypes());
  if (getLseGrad())
    types.push_back(getLseGrad().getType());
  printer << " : (" << types << ") -> (" << getResultTypes() << ")";
  printRegion(printer, "score_mod", getScoreMod());
  printRegion(printer, "score_grad", getScoreGradRegion());
  printRegion(printer, "mask_mod", getMaskMod());
}

ParseResult BackwardOp::parse(OpAsmParser &parser, OperationState &result) {
  using Operand = OpAsmParser::UnresolvedOperand;
  constexpr size_t kArrays = 6, kResults = 3;
  Builder &builder = parser.getBuilder();
  SmallVector<Operand> arrays, aux;
  SmallVector<Type> auxTypes;
  Operand scale;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(arrays))
    return failure();
  if (arrays.size() != kArrays)
    return parser.emitError(loc) << "expects q, k, v, o, lse and do, got "
                                 << arrays.size() << " operands";
  bool hasLseGrad = succeeded(parser.parseOptionalKeyword("dlse"));
  if (hasLseGrad && parser.parseOperand(arrays.emplace_back()))
    return failure();
  SMLoc auxLoc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("aux")) &&
      (parser.parseLParen() || parser.parseOperandList(aux) ||
       parser.parseColonTypeList(auxTypes) || parser.parseRParen()))
    return failure();
  SmallVector<int64_t> auxNumbers;
  if (succeeded(parser.parseOptionalKeyword("grad_aux"))) {
    auto parseNumber = [&]() {
      return parser.parseInteger(auxNumbers.emplace_back());
    };
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                       parseNumber))
      return failure();
    result.addAttribute(getGradAuxAttrName(result.name),
                        builder.getDenseI64ArrayAttr(auxNumbers));
  }
  size_t results = kResults + auxNumbers.size();
  bool hasScale = succeeded(parser.parseOptionalKeyword("scale"));
  if (hasScale && parser.parseOperand(scale))
    return failure();
  ArrayAttr mods;
  FunctionType type;
  SMLoc typeLoc;
  if (parseLayout(parser, result, getLayoutAttrName(result.name)) ||
      (succeeded(parser.parseOptionalKeyword("mods")) &&
       parser.parseAttribute(mods, getModsAttrName(result.name),
                             result.attributes)) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.getCurrentLocation(&typeLoc) || parser.parseType(type))
    return failure();
  if (type.getNumInputs() != arrays.size() || type.getNumResults() != results)
    return parser.emitError(typeLoc)
           << "expects " << arrays.size() << " operand types and " << results
           << " result types, got " << type.getNumInputs() << " and "
           << type.getNumResults();
  if (parser.resolveOperands(arrays, type.getInputs(), typeLoc,
                             result.operands) ||
      parser.resolveOperands(aux, auxTypes, auxLoc, result.operands) ||
      (hasScale &&
       parser.resolveOperand(scale, builder.getF32Type(), result.operands)))
    return failure();
  result.addTypes(type.getResults());
  result.addAttribute(
      getOperandSegmentSizesAttrName(result.name),
      builder.getDenseI32ArrayAttr({1, 1, 1, 1, 1, 1, hasLseGrad ? 1 : 0,
                                    static_cast<int32_t>(aux.size()),
                                    hasScale ? 1 : 0}));
  Type f32 = builder.getF32Type(), index = builder.getIndexType();
  Region *score = result.addRegion(), *gradient = result.addRegion(),
         *keep = result.addRegion();
  if (succeeded(parser.parseOptionalKeyword("score_mod")) &&
      parseRegion(parser, *score, {f32, index, index, index, index},
                  "score_mod"))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("score_grad")) &&
      parseRegion(parser, *gradient, {f32, f32, index, index, index, index},
                  "score_grad"))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("mask_mod")) &&
      parseRegion(parser, *keep, {index, index, index, index}, "mask_mod"))
    return failure();
  return success();
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
                                    NamedTensor other) {
  int64_t dim = tensor.type.getDimSize(3);
  if (ShapedType::isDynamic(dim))
    return op.emitOpError("expects a static head dim, that of ")
           << tensor.name << " is dynamic";
  if (dim < 8 || dim % 8 || dim > 256)
    return op.emitOpError("expects a head dim that is a multiple of 8 up to "
                          "256, that of ")
           << tensor.name << " is " << dim;
  if (other.type.getDimSize(3) != dim)
    return op.emitOpError("expects ") << tensor.name << " and " << other.name
                                      << " to agree in head dim, got " << dim
                                      << " and " << other.type.getDimSize(3);
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

LogicalResult BackwardOp::verify() {
  auto make = [](StringRef name, Value value) {
    return NamedTensor{name, cast<RankedTensorType>(value.getType())};
  };
  NamedTensor q = make("q", getQ()), k = make("k", getK()),
              v = make("v", getV()), o = make("o", getO()),
              lse = make("lse", getLse()), outGrad = make("do", getOutGrad());
  SmallVector<NamedTensor> rows = {lse};
  if (getLseGrad())
    rows.push_back(make("dlse", getLseGrad()));
  for (NamedTensor tensor : {q, k, v, o, outGrad}) {
    if (tensor.type.getRank() != 4)
      return emitOpError("expects ")
             << tensor.name << " of rank 4, got " << tensor.type.getRank();
    Type element = tensor.type.getElementType();
    if (!element.isF16() && !element.isBF16())
      return emitOpError("expects elements of f16 or bf16, got ") << element;
    if (element != getElementType())
      return emitOpError("expects ")
             << tensor.name << " to have the element type of q ("
             << getElementType() << "), got " << element;
  }
  for (NamedTensor tensor : rows)
    if (tensor.type.getRank() != 3 || !tensor.type.getElementType().isF32())
      return emitOpError("expects ")
             << tensor.name << " of rank 3 and f32, got " << tensor.type;
  if (failed(verifyHeadDims(*this, q, k)) ||
      failed(verifyHeadDims(*this, v, o)) ||
      failed(verifyHeadDims(*this, v, outGrad)))
    return failure();

  int64_t head = getHeadAxis(), sequence = getSequenceAxis();
  SmallVector<std::pair<NamedTensor, int64_t>> batches = {
      {q, 0}, {k, 0}, {v, 0}, {o, 0}, {outGrad, 0}};
  SmallVector<std::pair<NamedTensor, int64_t>> heads = {
      {q, head}, {o, head}, {outGrad, head}};
  SmallVector<std::pair<NamedTensor, int64_t>> lengths = {
      {q, sequence}, {o, sequence}, {outGrad, sequence}};
  for (NamedTensor tensor : rows) {
    batches.push_back({tensor, 0});
    heads.push_back({tensor, 1});
    lengths.push_back({tensor, 2});
  }
  if (failed(attention::verifyExtents(*this)) ||
      failed(verifySameExtent(*this, "batch", batches)) ||
      failed(verifySameExtent(*this, "heads", heads)) ||
      failed(verifySameExtent(*this, "length", lengths)) ||
      failed(verifySameExtent(*this, "heads", {{k, head}, {v, head}})) ||
      failed(verifySameExtent(*this, "length", {{k, sequence}, {v, sequence}})))
    return failure();
  int64_t queryHeads = q.type.getDimSize(head),
          keyHeads = k.type.getDimSize(head);
  if (!ShapedType::isDynamic(queryHeads) && !ShapedType::isDynamic(keyHeads) &&
      (keyHeads == 0 || queryHeads % keyHeads))
    return emitOpError("expects the key heads (")
           << keyHeads << ") to divide the query heads (" << queryHeads << ")";
  for (auto [tensor, name, result] : {std::tuple(q, "dq", Value(getDq())),
                                      {k, "dk", Value(getDk())},
                                      {v, "dv", Value(getDv())}})
    if (result.getType() != tensor.type)
      return emitOpError("expects ")
             << name << " to have the type of " << tensor.name << " ("
             << tensor.type << "), got " << result.getType();
  if (failed(verifyAuxNumbers(*this)))
    return failure();
  return verifyScaleAndMods(*this);
}

LogicalResult BackwardOp::verifyRegions() {
  Builder builder(getContext());
  Type f32 = builder.getF32Type(), index = builder.getIndexType();
  if (!getScoreGradRegion().empty() && getScoreMod().empty())
    return emitOpError("expects no 'score_grad' without 'score_mod'");
  SmallVector<Type> gradients(1 + getAuxNumbers().size(), f32);
  if (failed(verifyScalarRegion(*this, getScoreMod(), "score_mod",
                                {f32, index, index, index, index}, f32)) ||
      failed(verifyScalarRegion(*this, getScoreGradRegion(), "score_grad",
                                {f32, f32, index, index, index, index},
                                gradients)))
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
