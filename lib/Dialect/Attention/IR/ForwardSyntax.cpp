//===- ForwardSyntax.cpp - how attention.forward is written ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "OldClauses.h"
#include "ScalarRegions.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa3::attention;

/// What stands between the three tensors and the attributes.
static void printOperands(OpAsmPrinter &printer, ForwardOp op) {
  printer << ' ' << op.getQ() << ", " << op.getK() << ", " << op.getV();
  if (op.getQv())
    printer << " qv(" << op.getQv() << " : " << op.getQv().getType() << ")";
  if (!op.getAux().empty())
    printer << " aux(" << op.getAux() << " : " << op.getAux().getTypes() << ")";
  if (op.getScale())
    printer << " scale " << op.getScale();
  if (FloatAttr scale = op.getLiteralScaleAttr()) {
    printer << " scale ";
    printer.printAttributeWithoutType(scale);
  }
  if (op.hasScales()) {
    printer << " scales(" << op.getScales() << " : "
            << op.getScales().getTypes() << ")";
    if (op.getRows())
      printer << " rows [" << *op.getRows() << "]";
  }
  if (op.hasNibbles())
    printer << " nibbles(" << op.getKeyScale() << ", " << op.getValueScale()
            << " : " << op.getKeyScale().getType() << ", "
            << op.getValueScale().getType() << ")";
  printDescriptions(printer, op);
  if (op.getSplits())
    printer << " splits " << op.getSplits();
  if (op.getSinks())
    printer << " sinks(" << op.getSinks() << " : " << op.getSinks().getType()
            << ")";
  if (op.getPreviousO())
    printer << " previous(" << op.getPreviousO() << ", " << op.getPreviousLse()
            << " : " << op.getPreviousO().getType() << ", "
            << op.getPreviousLse().getType() << ")";
}

void ForwardOp::print(OpAsmPrinter &printer) {
  printOperands(printer, *this);
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
       getRowsAttrName(), getQTermsAttrName(), getGroupAttrName(),
       getTransposedVAttrName(), getKeptScaleAttrName(),
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
}

namespace {
/// Reads an attention.forward, in the order in which it is written.
class ForwardParser {
public:
  ForwardParser(OpAsmParser &parser, OperationState &result)
      : parser(parser), result(result), builder(parser.getBuilder()),
        old(parser, result) {}

  ParseResult parse() {
    return failure(parseTensors() || parseScale() || parseScales() ||
                   parseNibbles() || parseCounts() || parseAttributes() ||
                   parseTypes() || parseRegions() || resolveOperands());
  }

private:
  using Operand = OpAsmParser::UnresolvedOperand;
  /// Operands whose types are written beside them, and where.
  struct Typed {
    SmallVector<Operand> operands;
    SmallVector<Type> types;
    SMLoc loc;

    int32_t size() const { return operands.size(); }
  };

  ParseResult parseTyped(StringRef name, Typed &typed) {
    return parseTypedOperands(parser, name, typed.operands, typed.types,
                              typed.loc);
  }
  bool parseWord(StringRef word) {
    return succeeded(parser.parseOptionalKeyword(word));
  }

  ParseResult parseTensors();
  ParseResult parseScale();
  ParseResult parseScales();
  ParseResult parseNibbles();
  ParseResult parseCounts();
  ParseResult parseAttributes();
  ParseResult parseTypes();
  ParseResult resolveOperands();
  ParseResult parseRegions();

  OpAsmParser &parser;
  OperationState &result;
  Builder &builder;
  SmallVector<Operand, 3> tensors;
  Typed qv, aux, scales, nibbles, sinks, previous;
  SmallVector<Operand, 1> scale, sequences, blocks, splits;
  bool hasPlain = false, hasMaxLogits = false;
  FunctionType type;
  SMLoc typeLoc;
  OldClauses old;
};
} // namespace

ParseResult ForwardParser::parseTensors() {
  tensors.resize(3);
  if (parser.parseOperand(tensors[0]) || parser.parseComma() ||
      parser.parseOperand(tensors[1]) || parser.parseComma() ||
      parser.parseOperand(tensors[2]) || parseTyped("qv", qv))
    return failure();
  if (qv.size() > 1)
    return parser.emitError(qv.loc) << "expects one 'qv', got " << qv.size();
  return parseTyped("aux", aux);
}

/// A value of f32, or a number.
ParseResult ForwardParser::parseScale() {
  if (!parseWord("scale"))
    return success();
  Operand operand;
  OptionalParseResult value = parser.parseOptionalOperand(operand);
  if (value.has_value()) {
    scale.push_back(operand);
    return *value;
  }
  FloatAttr literal;
  return parser.parseAttribute(literal, builder.getF32Type(),
                               ForwardOp::getLiteralScaleAttrName(result.name),
                               result.attributes);
}

/// Scales of 8-bit elements, and for how many rows each is.
ParseResult ForwardParser::parseScales() {
  scales.loc = parser.getCurrentLocation();
  if (!parseWord("scales"))
    return success();
  if (parser.parseLParen() || parser.parseOperandList(scales.operands) ||
      parser.parseColonTypeList(scales.types) || parser.parseRParen())
    return failure();
  if (!parseWord("rows"))
    return success();
  SmallVector<int64_t> rows;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&]() {
        return parser.parseInteger(rows.emplace_back());
      }))
    return failure();
  result.addAttribute(ForwardOp::getRowsAttrName(result.name),
                      builder.getDenseI64ArrayAttr(rows));
  return success();
}

/// Scales of k and v, and that these hold two integers in a byte.
ParseResult ForwardParser::parseNibbles() {
  if (parseTyped("nibbles", nibbles))
    return failure();
  if (nibbles.size() && nibbles.size() != 2)
    return parser.emitError(nibbles.loc)
           << "expects scales of k and v in 'nibbles', got " << nibbles.size()
           << " operands";
  return success();
}

/// What is known of sequences, blocks and parts, and what sums begin with.
ParseResult ForwardParser::parseCounts() {
  if (parseValueOf(parser, "sequences", sequences) || old.parseMaxQ() ||
      parseValueOf(parser, "blocks", blocks) ||
      parseValueOf(parser, "splits", splits))
    return failure();
  sinks.loc = parser.getCurrentLocation();
  if (parseWord("sinks") &&
      (parser.parseLParen() ||
       parser.parseOperand(sinks.operands.emplace_back()) ||
       parser.parseColonType(sinks.types.emplace_back()) ||
       parser.parseRParen()))
    return failure();
  if (parseTyped("previous", previous))
    return failure();
  if (previous.size() && previous.size() != 2)
    return parser.emitError(previous.loc)
           << "expects o and lse in 'previous', got " << previous.size()
           << " operands";
  return success();
}

ParseResult ForwardParser::parseAttributes() {
  if (parseWord("q_terms")) {
    int64_t terms;
    if (parser.parseInteger(terms))
      return failure();
    result.addAttribute(ForwardOp::getQTermsAttrName(result.name),
                        builder.getI64IntegerAttr(terms));
  }
  if (parseGroup(parser, result, ForwardOp::getGroupAttrName(result.name)) ||
      parseLayout(parser, result, ForwardOp::getLayoutAttrName(result.name)))
    return failure();
  if (parseWord("transposed_v"))
    result.addAttribute(ForwardOp::getTransposedVAttrName(result.name),
                        builder.getUnitAttr());
  hasPlain = parseWord("plain");
  hasMaxLogits = parseWord("max_logits");
  ArrayAttr mods;
  if (parseWord("mods") &&
      parser.parseAttribute(mods, ForwardOp::getModsAttrName(result.name),
                            result.attributes))
    return failure();
  return failure(parseKeptScale(parser, result,
                                ForwardOp::getKeptScaleAttrName(result.name)) ||
                 parser.parseOptionalAttrDict(result.attributes));
}

/// Types of q, k, v and of the results: o, plain and the largest scores where
/// they are asked for; and lse, without which plain is not.
ParseResult ForwardParser::parseTypes() {
  if (parser.parseColon() || parser.getCurrentLocation(&typeLoc) ||
      parser.parseType(type))
    return failure();
  unsigned least = 1 + (hasPlain ? 2 : 0) + (hasMaxLogits ? 1 : 0),
           most = least + (hasPlain ? 0 : 1), results = type.getNumResults();
  if (type.getNumInputs() != 3 || results < least || results > most)
    return parser.emitError(typeLoc)
           << "expects 3 operand types and " << least
           << (least == most ? "" : " or " + std::to_string(most))
           << " result types, got " << type.getNumInputs() << " and "
           << results;
  result.addTypes(type.getResults());
  bool hasLse = hasPlain || results == most;
  result.addAttribute(
      ForwardOp::getResultSegmentSizeAttr(),
      builder.getDenseI32ArrayAttr(
          {1, hasLse ? 1 : 0, hasPlain ? 1 : 0, hasMaxLogits ? 1 : 0}));
  return success();
}

ParseResult ForwardParser::resolveOperands() {
  auto resolve = [&](const Typed &typed) -> ParseResult {
    return parser.resolveOperands(typed.operands, typed.types, typed.loc,
                                  result.operands);
  };
  auto resolveAs = [&](ArrayRef<Operand> operands, Type type) -> ParseResult {
    return parser.resolveOperands(operands, type, result.operands);
  };
  Type index = builder.getIndexType();
  if (parser.resolveOperands(tensors, type.getInputs(), typeLoc,
                             result.operands) ||
      resolve(qv) || resolve(aux) || resolveAs(scale, builder.getF32Type()) ||
      resolve(scales) ||
      resolveAs(sequences, SequencesType::get(builder.getContext())) ||
      resolveAs(blocks, BlocksType::get(builder.getContext())) ||
      resolveAs(splits, index) || resolve(sinks) || resolve(previous) ||
      resolve(nibbles))
    return failure();
  auto count = [](const auto &operands) {
    return static_cast<int32_t>(operands.size());
  };
  int32_t ofPrevious = previous.size() / 2, ofNibbles = nibbles.size() / 2;
  SmallVector<int32_t> segments = {1,
                                   1,
                                   1,
                                   qv.size(),
                                   aux.size(),
                                   count(scale),
                                   scales.size(),
                                   count(sequences),
                                   count(blocks),
                                   count(splits),
                                   sinks.size(),
                                   ofPrevious,
                                   ofPrevious,
                                   ofNibbles,
                                   ofNibbles};
  constexpr unsigned kSequences = 7;
  if (old.build(segments, kSequences))
    return failure();
  result.addAttribute(ForwardOp::getOperandSegmentSizesAttrName(result.name),
                      builder.getDenseI32ArrayAttr(segments));
  return success();
}

ParseResult ForwardParser::parseRegions() {
  Region *score = result.addRegion(), *keep = result.addRegion(),
         *kept = result.addRegion(), *epilogue = result.addRegion();
  Type f32 = builder.getF32Type(), index = builder.getIndexType();
  SmallVector<Type> place(4, index), ofNumber = {f32};
  ofNumber.append(place);
  if (parseOptionalRegion(parser, *score, ofNumber, "score_mod") ||
      parseOptionalRegion(parser, *keep, place, "mask_mod") ||
      parseOptionalRegion(parser, *kept, place, "keep_mod") ||
      parseOptionalRegion(parser, *epilogue, ofNumber, "epilogue") ||
      old.parseSequences())
    return failure();
  return old.parseBlocks(/*withKeys=*/false);
}

ParseResult ForwardOp::parse(OpAsmParser &parser, OperationState &result) {
  return ForwardParser(parser, result).parse();
}
