//===- ListBlocksOp.cpp - syntax and constraints of list_blocks -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "ScalarRegions.h"
#include "fa3/Dialect/Attention/IR/BlockLists.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fa3::attention;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

void ListBlocksOp::print(OpAsmPrinter &printer) {
  printer << " [";
  llvm::interleaveComma(getSizes(), printer);
  printer << "] (" << getBatch() << ", " << getHeads() << ", " << getQueries()
          << ", " << getKeys() << ')';
  if (!getAux().empty())
    printer << " aux(" << getAux() << " : " << getAux().getTypes() << ")";
  printer.printOptionalAttrDict((*this)->getAttrs(), {getSizesAttrName()});
  printer << " : " << getResultTypes();
  printRegion(printer, "mask_mod", getMaskMod());
}

ParseResult ListBlocksOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  Type index = builder.getIndexType();
  SmallVector<int64_t> sizes;
  SmallVector<OpAsmParser::UnresolvedOperand> numbers, aux;
  SmallVector<Type> auxTypes, types;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(
          OpAsmParser::Delimiter::Square,
          [&] { return parser.parseInteger(sizes.emplace_back()); }) ||
      parser.parseOperandList(numbers, OpAsmParser::Delimiter::Paren))
    return failure();
  if (numbers.size() != 4)
    return parser.emitError(loc)
           << "expects numbers of batches, heads, queries and keys, got "
           << numbers.size();
  result.addAttribute(getSizesAttrName(result.name),
                      builder.getDenseI64ArrayAttr(sizes));
  SMLoc auxLoc;
  if (parseTypedOperands(parser, "aux", aux, auxTypes, auxLoc))
    return failure();
  if (parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonTypeList(types) ||
      parser.resolveOperands(numbers, index, result.operands) ||
      parser.resolveOperands(aux, auxTypes, auxLoc, result.operands))
    return failure();
  result.addTypes(types);
  return failure(parser.parseKeyword("mask_mod") ||
                 parseRegion(parser, *result.addRegion(),
                             {index, index, index, index}, "mask_mod"));
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

LogicalResult ListBlocksOp::verify() {
  if (getSizes().size() != 2)
    return emitOpError("expects two sizes, queries and keys of a block, got ")
           << getSizes().size();
  for (auto [what, size, step] :
       {std::tuple("queries", getSizes()[0], kQueryStepOfBlock),
        std::tuple("keys", getSizes()[1], kKeyStepOfBlock)})
    if (!isSizeOfBlock(size, step))
      return emitOpError("expects blocks of a positive multiple of ")
             << step << ' ' << what << " up to " << kMostRowsOfBlock << ", got "
             << size;
  constexpr int64_t kRankOfCount = 3, kRankOfIndex = 4;
  auto first = cast<RankedTensorType>(getIndex().getType());
  for (auto [number, type] : llvm::enumerate(getResultTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    int64_t rank = number % 2 ? kRankOfIndex : kRankOfCount;
    if (tensor.getRank() != rank || !tensor.getElementType().isInteger(32))
      return emitOpError("expects result ")
             << number << " to have rank " << rank
             << " and elements of i32, got " << tensor;
    for (int64_t axis = 0; axis < rank; ++axis)
      if (first.getRank() == kRankOfIndex &&
          failed(verifyCompatibleDims(
              {first.getDimSize(axis), tensor.getDimSize(axis)})))
        return emitOpError("expects results that agree in extents, got ")
               << first.getDimSize(axis) << " and " << tensor.getDimSize(axis)
               << " in dimension " << axis;
  }
  for (auto [what, value, axis] : {std::tuple("batches", getBatch(), 0),
                                   std::tuple("heads", getHeads(), 1)}) {
    std::optional<int64_t> number = getConstantIntValue(value);
    if (number && !first.isDynamicDim(axis) &&
        *number != first.getDimSize(axis))
      return emitOpError("expects results for ")
             << *number << ' ' << what << ", got an extent of "
             << first.getDimSize(axis);
  }
  return verifyExtents(*this);
}

LogicalResult ListBlocksOp::verifyRegions() {
  Builder builder(getContext());
  Type index = builder.getIndexType();
  return verifyScalarRegion(*this, getAux(), getMaskMod(), "mask_mod",
                            {index, index, index, index}, builder.getI1Type());
}
