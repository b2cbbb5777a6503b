//===- CacheOps.cpp - attention.rotary and attention.append ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OldClauses.h"
#include "ScalarRegions.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fa3::attention;

//===----------------------------------------------------------------------===//
// What both have
//===----------------------------------------------------------------------===//

/// C3 of rotary, C4 of append.
static LogicalResult verifyFirst(Operation *op, Value first,
                                 RankedTensorType source) {
  auto type = cast<RankedTensorType>(first.getType());
  if (type.getRank() != 1 || !type.getElementType().isInteger(32))
    return op->emitOpError("expects first positions of rank 1 and i32, got ")
           << type;
  if (failed(verifyCompatibleDims({type.getDimSize(0), source.getDimSize(0)})))
    return op->emitOpError("expects a first position for every batch of the "
                           "source (")
           << source.getDimSize(0) << "), got " << type.getDimSize(0);
  return success();
}

static LogicalResult verifySource(Operation *op, RankedTensorType source) {
  Type element = source.getElementType();
  if (source.getRank() != 4)
    return op->emitOpError("expects a source of rank 4, got ")
           << source.getRank();
  if (!element.isF16() && !element.isBF16())
    return op->emitOpError("expects a source of f16 or bf16, got ") << element;
  int64_t d = source.getDimSize(3);
  if (ShapedType::isDynamic(d) || d < 8 || d % 8 || d > 256)
    return op->emitOpError("expects a static head dim that is a multiple of 8 "
                           "up to 256, got ")
           << source;
  return success();
}

//===----------------------------------------------------------------------===//
// Rotary
//===----------------------------------------------------------------------===//

LogicalResult RotaryOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType());
  auto table = cast<RankedTensorType>(getCos().getType());
  if (failed(verifySource(*this, source)))
    return failure();
  Type element = table.getElementType();
  if (table.getRank() != 2 ||
      (!element.isF32() && !element.isF16() && !element.isBF16()))
    return emitOpError("expects cos and sin of rank 2 with elements of f32, "
                       "f16 or bf16, got ")
           << table;
  int64_t pairs = table.getDimSize(1), most = source.getDimSize(3) / 2;
  if (ShapedType::isDynamic(pairs) || pairs < 8 || pairs % 8 || pairs > most)
    return emitOpError("expects a static number of columns of cos and sin that "
                       "is a multiple of 8 up to ")
           << most << ", half the head dim, got " << table;
  if (failed(verifyFirst(*this, getFirst(), source)))
    return failure();
  return verifyExtents(*this);
}

//===----------------------------------------------------------------------===//
// Append
//===----------------------------------------------------------------------===//

void AppendOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getSource() << ", " << getCache() << " at " << getFirst();
  if (!getAux().empty())
    printer << " aux(" << getAux() << " : " << getAux().getTypes() << ")";
  if (getScales())
    printer << " scales(" << getScales() << " : " << getScales().getType()
            << ")";
  if (getSequences())
    printer << " sequences " << getSequences();
  if (getLayout() != Layout::bhsd)
    printer << " layout " << stringifyLayout(getLayout());
  if (getMods())
    printer << " mods " << getModsAttr();
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getLayoutAttrName(), getModsAttrName(),
                                 getOperandSegmentSizesAttrName()});
  printer << " : " << getSource().getType() << ", " << getCache().getType()
          << ", " << getFirst().getType();
}

ParseResult AppendOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  OpAsmParser::UnresolvedOperand source, cache, first;
  SmallVector<OpAsmParser::UnresolvedOperand> aux;
  SmallVector<Type> auxTypes, types;
  if (parser.parseOperand(source) || parser.parseComma() ||
      parser.parseOperand(cache) || parser.parseKeyword("at") ||
      parser.parseOperand(first))
    return failure();
  SMLoc auxLoc;
  if (parseTypedOperands(parser, "aux", aux, auxTypes, auxLoc))
    return failure();
  SmallVector<OpAsmParser::UnresolvedOperand> scales;
  SmallVector<Type> scalesTypes;
  SMLoc scalesLoc;
  if (parseTypedOperands(parser, "scales", scales, scalesTypes, scalesLoc))
    return failure();
  if (scales.size() > 1)
    return parser.emitError(scalesLoc)
           << "expects scales to be one operand, got " << scales.size();
  SmallVector<OpAsmParser::UnresolvedOperand, 1> sequences;
  OldClauses old(parser, result);
  if (parseValueOf(parser, "sequences", sequences) ||
      parseLayout(parser, result, getLayoutAttrName(result.name)))
    return failure();
  ArrayAttr mods;
  if (succeeded(parser.parseOptionalKeyword("mods")) &&
      parser.parseAttribute(mods, getModsAttrName(result.name),
                            result.attributes))
    return failure();
  SMLoc typeLoc;
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.getCurrentLocation(&typeLoc) || parser.parseTypeList(types))
    return failure();
  if (types.size() != 3)
    return parser.emitError(typeLoc)
           << "expects types of source, cache and first positions, got "
           << types.size();
  if (old.parsePlace() ||
      parser.resolveOperands({source, cache, first}, types, typeLoc,
                             result.operands) ||
      parser.resolveOperands(aux, auxTypes, auxLoc, result.operands) ||
      parser.resolveOperands(scales, scalesTypes, scalesLoc, result.operands) ||
      parser.resolveOperands(
          sequences, SequencesType::get(builder.getContext()), result.operands))
    return failure();
  int32_t segments[] = {1,
                        1,
                        1,
                        static_cast<int32_t>(aux.size()),
                        static_cast<int32_t>(scales.size()),
                        static_cast<int32_t>(sequences.size())};
  if (old.build(segments, std::size(segments) - 1))
    return failure();
  result.addAttribute(getOperandSegmentSizesAttrName(result.name),
                      builder.getDenseI32ArrayAttr(segments));
  result.addTypes(types[1]);
  return success();
}

/// Those that say where keys are without taking a dimension away.
static LogicalResult verifyMods(AppendOp op) {
  ArrayAttr mods = op.getModsAttr();
  if (!mods)
    return success();
  if (mods.size() > kMostMods)
    return op.emitOpError("expects at most ")
           << kMostMods << " mods, got " << mods.size();
  for (Attribute attribute : mods) {
    auto mod = dyn_cast<ModAttrInterface>(attribute);
    constexpr int64_t kRank = 3;
    if (!mod || !mod.hasPlace(Sequence::key) ||
        mod.getPlaceRank(Sequence::key, kRank) != kRank)
      return op.emitOpError("expects mods that say where keys are, as "
                            "#attention.paged, got ")
             << attribute;
    if (failed(mod.verifyMod(op)))
      return failure();
  }
  return success();
}

/// C5 and C6.
static LogicalResult verifyPlace(AppendOp op) {
  if (op.getSequences() && !op.getSequences().getDefiningOp<SequencesOp>())
    return op.emitOpError("expects sequences that are the result of "
                          "'attention.sequences'");
  Region *place = op.findPlace();
  if (!place)
    return success();
  if (place->walk([](LengthOp) { return WalkResult::interrupt(); })
          .wasInterrupted())
    return op.emitOpError("expects 'place_k' not to ask for a length");
  return verifyReads(op, op.getAux(), *place, "place_k");
}

/// C9.
static LogicalResult verifyScales(AppendOp op, RankedTensorType source,
                                  bool is8Bit) {
  if (!op.getScales())
    return is8Bit ? op.emitOpError("expects scales for a cache of 8 bits")
                  : success();
  if (!is8Bit)
    return op.emitOpError("has scales: expects a cache of f8E4M3FN or "
                          "f8E5M2, got ")
           << op.getCache().getType().getElementType();
  auto scales = cast<RankedTensorType>(op.getScales().getType());
  if (scales.getRank() != 3 || !scales.getElementType().isF32())
    return op.emitOpError("expects scales of rank 3 and f32, got ") << scales;
  int64_t extents[] = {
      source.getDimSize(0),
      source.getDimSize(AppendOp::getHeadAxis(op.getLayout(), 4)), 1};
  for (auto [axis, extent] : llvm::enumerate(extents))
    if (int64_t own = scales.getDimSize(axis);
        own != 1 && failed(verifyCompatibleDims({own, extent})))
      return op.emitOpError("expects scales to have extent 1 or ")
             << extent << " in dimension " << axis << ", got " << own;
  return success();
}

void AppendOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  OpOperand *cache = &getCacheMutable();
  effects.emplace_back(MemoryEffects::Read::get(), cache,
                       SideEffects::DefaultResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), cache,
                       SideEffects::DefaultResource::get());
}

LogicalResult AppendOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType());
  auto cache = cast<RankedTensorType>(getCache().getType());
  if (failed(verifySource(*this, source)) || failed(verifyPlace(*this)))
    return failure();
  if (getResult().getType() != cache)
    return emitOpError("expects a result of the type of the cache, ")
           << cache << ", got " << getResult().getType();
  int64_t rank = 4;
  if (Region *place = findPlace())
    if (auto yield = dyn_cast<YieldOp>(place->front().getTerminator()))
      rank = yield.getValues().size() + 1;
  if (rank < 3)
    return emitOpError("expects 'place_k' to yield two indices or more");
  if (cache.getRank() != rank)
    return emitOpError("expects a cache of rank ")
           << rank << ", got " << cache.getRank();
  Type element = cache.getElementType();
  bool is8Bit = isa<Float8E4M3FNType, Float8E5M2Type>(element);
  if (element != source.getElementType() && !is8Bit)
    return emitOpError("expects the cache to have the element type of the "
                       "source (")
           << source.getElementType() << "), f8E4M3FN or f8E5M2, got "
           << element;
  if (is8Bit && source.getDimSize(3) % 16)
    return emitOpError("has a cache of 8 bits: expects a head dim that is a "
                       "multiple of 16, got ")
           << source.getDimSize(3);
  if (cache.getShape().back() != source.getDimSize(3))
    return emitOpError("expects source and cache to agree in head dim, got ")
           << source.getDimSize(3) << " and " << cache.getShape().back();
  int64_t heads = source.getDimSize(getHeadAxis(getLayout(), 4)),
          own = cache.getDimSize(getHeadAxis(getLayout(), rank));
  if (failed(verifyCompatibleDims({heads, own})))
    return emitOpError("expects source and cache to agree in heads, got ")
           << heads << " and " << own;
  bool hasPlace = findPlace() || getMods();
  if (!hasPlace &&
      failed(verifyCompatibleDims({source.getDimSize(0), cache.getDimSize(0)})))
    return emitOpError("expects source and cache to agree in batch, got ")
           << source.getDimSize(0) << " and " << cache.getDimSize(0);
  if (failed(verifyFirst(*this, getFirst(), source)) ||
      failed(verifyExtents(*this)) ||
      failed(verifyScales(*this, source, is8Bit)))
    return failure();
  return verifyMods(*this);
}
