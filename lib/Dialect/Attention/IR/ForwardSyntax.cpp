//===- ForwardSyntax.cpp - how attention.forward is written ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ScalarRegions.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa3::attention;

void ForwardOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getQ() << ", " << getK() << ", " << getV();
  if (getQv())
    printer << " qv(" << getQv() << " : " << getQv().getType() << ")";
  if (!getAux().empty())
    printer << " aux(" << getAux() << " : " << getAux().getTypes() << ")";
  if (getScale())
    printer << " scale " << getScale();
  if (FloatAttr scale = getLiteralScaleAttr()) {
    printer << " scale ";
    printer.printAttributeWithoutType(scale);
  }
  if (hasScales()) {
    printer << " scales(" << getScales() << " : " << getScales().getTypes()
            << ")";
    if (getRows())
      printer << " rows [" << *getRows() << "]";
  }
  if (getMaxQ())
    printer << " max_q " << getMaxQ();
  if (getSplits())
    printer << " splits " << getSplits();
  if (getSinks())
    printer << " sinks(" << getSinks() << " : " << getSinks().getType() << ")";
  if (getPreviousO())
    printer << " previous(" << getPreviousO() << ", " << getPreviousLse()
            << " : " << getPreviousO().getType() << ", "
            << getPreviousLse().getType() << ")";
  if (getQTerms() != 1)
    printer << " q_terms " << getQTerms();
  if (getGroup())
    printer << " group " << *getGroup();
  if (getLayout() != Layout::bhsd)
    printer << " layout " << stringifyLayout(getLayout());
  if (getTransposedV())
    printer << " transposed_v";
  if (getPlain())
    printer << " plain";
  if (getMaxLogits())
    printer << " max_logits";
  if (getMods())
    printer << " mods " << getModsAttr();
  printKeptScale(printer, *this);
  printer.printOptionalAttrDict(
      (*this)->getAttrs(),
      {getLayoutAttrName(), getModsAttrName(), getLiteralScaleAttrName(),
       getRowsAttrName(), getBlockSizesAttrName(), getQTermsAttrName(),
       getGroupAttrName(), getTransposedVAttrName(), getKeptScaleAttrName(),
       getOperandSegmentSizesAttrName(), getResultSegmentSizeAttr()});
  printer << " : (" << getQ().getType() << ", " << getK().getType() << ", "
          << getV().getType() << ") -> ";
  if (getNumResults() > 1)
    printer << "(" << getResultTypes() << ")";
  else
    printer << getO().getType();
  printRegion(printer, "score_mod", getScoreMod());
  printRegion(printer, "mask_mod", getMaskMod());
  printRegion(printer, "keep_mod", getKeepMod());
  printRegion(printer, "epilogue", getEpilogue());
  printSequenceRegions(printer, *this);
  printBlocks(printer, *this);
}

ParseResult ForwardOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  OpAsmParser::UnresolvedOperand q, k, v, scale, maxQ;
  SmallVector<OpAsmParser::UnresolvedOperand> aux, scales;
  SmallVector<Type> auxTypes, scaleTypes;
  bool hasScale = false, hasMaxQ = false;
  if (parser.parseOperand(q) || parser.parseComma() || parser.parseOperand(k) ||
      parser.parseComma() || parser.parseOperand(v))
    return failure();
  SMLoc auxLoc, qvLoc;
  SmallVector<OpAsmParser::UnresolvedOperand, 1> qv;
  SmallVector<Type, 1> qvTypes;
  if (parseTypedOperands(parser, "qv", qv, qvTypes, qvLoc))
    return failure();
  if (qv.size() > 1)
    return parser.emitError(qvLoc) << "expects one 'qv', got " << qv.size();
  if (parseTypedOperands(parser, "aux", aux, auxTypes, auxLoc))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("scale"))) {
    OptionalParseResult value = parser.parseOptionalOperand(scale);
    hasScale = value.has_value();
    FloatAttr literal;
    if (hasScale
            ? failed(*value)
            : failed(parser.parseAttribute(literal, builder.getF32Type(),
                                           getLiteralScaleAttrName(result.name),
                                           result.attributes)))
      return failure();
  }
  SMLoc scalesLoc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("scales"))) {
    if (parser.parseLParen() || parser.parseOperandList(scales) ||
        parser.parseColonTypeList(scaleTypes) || parser.parseRParen())
      return failure();
    SmallVector<int64_t> rows;
    if (succeeded(parser.parseOptionalKeyword("rows"))) {
      if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&]() {
            return parser.parseInteger(rows.emplace_back());
          }))
        return failure();
      result.addAttribute(getRowsAttrName(result.name),
                          builder.getDenseI64ArrayAttr(rows));
    }
  }
  if (succeeded(parser.parseOptionalKeyword("max_q"))) {
    hasMaxQ = true;
    if (parser.parseOperand(maxQ))
      return failure();
  }
  OpAsmParser::UnresolvedOperand splits, sinks;
  bool hasSplits = false;
  if (succeeded(parser.parseOptionalKeyword("splits"))) {
    hasSplits = true;
    if (parser.parseOperand(splits))
      return failure();
  }
  Type sinksType;
  if (succeeded(parser.parseOptionalKeyword("sinks")) &&
      (parser.parseLParen() || parser.parseOperand(sinks) ||
       parser.parseColonType(sinksType) || parser.parseRParen()))
    return failure();
  SmallVector<OpAsmParser::UnresolvedOperand, 2> previous;
  SmallVector<Type, 2> previousTypes;
  SMLoc previousLoc;
  if (parseTypedOperands(parser, "previous", previous, previousTypes,
                         previousLoc))
    return failure();
  if (!previous.empty() && previous.size() != 2)
    return parser.emitError(previousLoc)
           << "expects o and lse in 'previous', got " << previous.size()
           << " operands";
  if (succeeded(parser.parseOptionalKeyword("q_terms"))) {
    int64_t terms;
    if (parser.parseInteger(terms))
      return failure();
    result.addAttribute(getQTermsAttrName(result.name),
                        builder.getI64IntegerAttr(terms));
  }
  if (parseGroup(parser, result, getGroupAttrName(result.name)) ||
      parseLayout(parser, result, getLayoutAttrName(result.name)))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("transposed_v")))
    result.addAttribute(getTransposedVAttrName(result.name),
                        builder.getUnitAttr());
  bool hasPlain = succeeded(parser.parseOptionalKeyword("plain"));
  bool hasMaxLogits = succeeded(parser.parseOptionalKeyword("max_logits"));
  ArrayAttr mods;
  if (succeeded(parser.parseOptionalKeyword("mods")) &&
      parser.parseAttribute(mods, getModsAttrName(result.name),
                            result.attributes))
    return failure();
  if (parseKeptScale(parser, result, getKeptScaleAttrName(result.name)))
    return failure();
  FunctionType type;
  SMLoc typeLoc;
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.getCurrentLocation(&typeLoc) || parser.parseType(type))
    return failure();
  // o, plain and the largest scores where they are asked for; and lse, without
  // which plain is not.
  unsigned least = 1 + (hasPlain ? 2 : 0) + (hasMaxLogits ? 1 : 0),
           most = least + (hasPlain ? 0 : 1), results = type.getNumResults();
  if (type.getNumInputs() != 3 || results < least || results > most)
    return parser.emitError(typeLoc)
           << "expects 3 operand types and " << least
           << (least == most ? "" : " or " + std::to_string(most))
           << " result types, got " << type.getNumInputs() << " and "
           << results;
  if (parser.resolveOperands({q, k, v}, type.getInputs(), typeLoc,
                             result.operands) ||
      parser.resolveOperands(qv, qvTypes, qvLoc, result.operands) ||
      parser.resolveOperands(aux, auxTypes, auxLoc, result.operands) ||
      (hasScale &&
       parser.resolveOperand(scale, builder.getF32Type(), result.operands)) ||
      parser.resolveOperands(scales, scaleTypes, scalesLoc, result.operands) ||
      (hasMaxQ &&
       parser.resolveOperand(maxQ, builder.getIndexType(), result.operands)) ||
      (hasSplits && parser.resolveOperand(splits, builder.getIndexType(),
                                          result.operands)) ||
      (sinksType && parser.resolveOperand(sinks, sinksType, result.operands)) ||
      parser.resolveOperands(previous, previousTypes, previousLoc,
                             result.operands))
    return failure();
  result.addTypes(type.getResults());
  result.addAttribute(
      getOperandSegmentSizesAttrName(result.name),
      builder.getDenseI32ArrayAttr(
          {1, 1, 1, static_cast<int32_t>(qv.size()),
           static_cast<int32_t>(aux.size()), hasScale ? 1 : 0,
           static_cast<int32_t>(scales.size()), hasMaxQ ? 1 : 0,
           hasSplits ? 1 : 0, sinksType ? 1 : 0, previous.empty() ? 0 : 1,
           previous.empty() ? 0 : 1}));
  result.addAttribute(
      getResultSegmentSizeAttr(),
      builder.getDenseI32ArrayAttr({1, hasPlain || results == most ? 1 : 0,
                                    hasPlain ? 1 : 0, hasMaxLogits ? 1 : 0}));
  Region *score = result.addRegion(), *keep = result.addRegion();
  Region *lengths = result.addRegion(), *placeQ = result.addRegion(),
         *placeK = result.addRegion(), *blocks = result.addRegion(),
         *kept = result.addRegion(), *epilogue = result.addRegion();
  Type f32 = builder.getF32Type(), index = builder.getIndexType();
  if (succeeded(parser.parseOptionalKeyword("score_mod")) &&
      parseRegion(parser, *score, {f32, index, index, index, index},
                  "score_mod"))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("mask_mod")) &&
      parseRegion(parser, *keep, {index, index, index, index}, "mask_mod"))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("keep_mod")) &&
      parseRegion(parser, *kept, {index, index, index, index}, "keep_mod"))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("epilogue")) &&
      parseRegion(parser, *epilogue, {f32, index, index, index, index},
                  "epilogue"))
    return failure();
  if (parseSequenceRegions(parser, *lengths, *placeQ, *placeK))
    return failure();
  return parseBlocks(parser, result, getBlockSizesAttrName(result.name),
                     *blocks, /*blocksByKey=*/nullptr);
}
