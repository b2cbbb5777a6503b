//===- Sequences.cpp - lengths and places of sequences --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What forward and backward share of sequences that have lengths of their own
// and lie anywhere.
//===----------------------------------------------------------------------===//

#include "ScalarRegions.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa3::attention;

/// Whether one of the modifications says something.
static bool hasMod(ScoredOpInterface op,
                   function_ref<bool(ModAttrInterface)> says) {
  ArrayAttr mods = op.getModsAttr();
  return mods && llvm::any_of(mods, [&](Attribute attribute) {
           auto mod = dyn_cast<ModAttrInterface>(attribute);
           return mod && says(mod);
         });
}

bool fa3::attention::hasPlace(Operation *operation, Sequence sequence) {
  auto op = cast<ScoredOpInterface>(operation);
  return !op.getPlaceRegion(sequence).empty() ||
         hasMod(op,
                [&](ModAttrInterface mod) { return mod.hasPlace(sequence); });
}

bool fa3::attention::hasLengths(Operation *operation) {
  auto op = cast<ScoredOpInterface>(operation);
  return !op.getLengthsRegion().empty() ||
         hasMod(op, [](ModAttrInterface mod) { return mod.hasLengths(); });
}

int64_t fa3::attention::getPlaceRank(Operation *operation, Sequence sequence) {
  auto op = cast<ScoredOpInterface>(operation);
  int64_t rank = 3;
  Region &region = op.getPlaceRegion(sequence);
  if (!region.empty())
    if (auto yield = dyn_cast<YieldOp>(region.front().getTerminator()))
      rank = yield.getValues().size();
  if (ArrayAttr mods = op.getModsAttr())
    for (Attribute attribute : mods)
      if (auto mod = dyn_cast<ModAttrInterface>(attribute))
        rank = mod.getPlaceRank(sequence, rank);
  return rank;
}

bool fa3::attention::isOfSequences(Region *region) {
  auto op = dyn_cast<ScoredOpInterface>(region->getParentOp());
  return op &&
         (region == &op.getLengthsRegion() || region == &op.getPlaceQRegion() ||
          region == &op.getPlaceKRegion());
}

LogicalResult fa3::attention::verifyPlaces(ScoredOpInterface op) {
  for (Sequence sequence : {Sequence::query, Sequence::key}) {
    if (!op.hasPlace(sequence) || op.hasLengths())
      continue;
    return op->emitOpError("expects 'lengths' beside '")
           << (sequence == Sequence::query ? "place_q" : "place_k") << "'";
  }
  return success();
}

LogicalResult fa3::attention::verifySequenceRegions(ScoredOpInterface op) {
  Type index = IndexType::get(op->getContext());
  if (failed(verifyScalarRegion(op, op.getLengthsRegion(), "lengths", index,
                                {index, index})) ||
      failed(verifyScalarRegion(op, op.getPlaceQRegion(), "place_q",
                                {index, index, index}, {})))
    return failure();
  return verifyScalarRegion(op, op.getPlaceKRegion(), "place_k",
                            {index, index, index}, {});
}

ParseResult fa3::attention::parseSequenceRegions(OpAsmParser &parser,
                                                 Region &lengths,
                                                 Region &placeQ,
                                                 Region &placeK) {
  Type index = parser.getBuilder().getIndexType();
  if (succeeded(parser.parseOptionalKeyword("lengths")) &&
      parseRegion(parser, lengths, index, "lengths"))
    return failure();
  for (auto [region, keyword] :
       {std::pair(&placeQ, "place_q"), std::pair(&placeK, "place_k")})
    if (succeeded(parser.parseOptionalKeyword(keyword)) &&
        parseRegion(parser, *region, {index, index, index}, keyword))
      return failure();
  return success();
}

void fa3::attention::printSequenceRegions(OpAsmPrinter &printer,
                                          ScoredOpInterface op) {
  printRegion(printer, "lengths", op.getLengthsRegion());
  printRegion(printer, "place_q", op.getPlaceQRegion());
  printRegion(printer, "place_k", op.getPlaceKRegion());
}

/// Rows of k along its sequence dimension.
static int64_t getKeyExtent(ScoredOpInterface op) {
  return cast<RankedTensorType>(op.getK().getType())
      .getDimSize(op.getSequenceAxisOf(op.getK()));
}

void fa3::attention::appendLengths(Operation *operation, LengthsBuilder build) {
  auto op = cast<ScoredOpInterface>(operation);
  Location loc = op->getLoc();
  Region &region = op.getLengthsRegion();
  bool isNew = region.empty();
  if (isNew)
    region.emplaceBlock().addArgument(IndexType::get(op->getContext()), loc);
  Block &block = region.front();
  auto b = ImplicitLocOpBuilder::atBlockEnd(loc, &block);
  Value queries, keys;
  if (!isNew) {
    b.setInsertionPoint(block.getTerminator());
    queries = block.getTerminator()->getOperand(0);
    keys = block.getTerminator()->getOperand(1);
  }
  ModContext context = {block.getArgument(0), {}, {}, {}, op.getAux()};
  context.keyExtent = getKeyExtent(op);
  auto [newQueries, newKeys] = build(b, context, queries, keys);
  if (isNew && !newQueries && !newKeys) {
    block.erase();
    return;
  }
  auto orExtent = [&](Value length, Sequence sequence) -> Value {
    return length ? length : LengthOp::create(b, b.getIndexType(), sequence);
  };
  Value values[] = {orExtent(newQueries, Sequence::query),
                    orExtent(newKeys, Sequence::key)};
  if (isNew)
    YieldOp::create(b, values);
  else
    block.getTerminator()->setOperands(values);
}

void fa3::attention::appendPlace(Operation *operation, Sequence sequence,
                                 PlaceBuilder build) {
  auto op = cast<ScoredOpInterface>(operation);
  Location loc = op->getLoc();
  Region &region = op.getPlaceRegion(sequence);
  bool isNew = region.empty();
  if (isNew)
    for (Block &block = region.emplaceBlock(); block.getNumArguments() < 3;)
      block.addArgument(IndexType::get(op->getContext()), loc);
  Block &block = region.front();
  auto b = ImplicitLocOpBuilder::atBlockEnd(loc, &block);
  SmallVector<Value> place(block.getArguments());
  if (!isNew) {
    b.setInsertionPoint(block.getTerminator());
    place.assign(block.getTerminator()->operand_begin(),
                 block.getTerminator()->operand_end());
  }
  bool isQuery = sequence == Sequence::query;
  Value row = block.getArgument(2);
  ModContext context = {block.getArgument(0), block.getArgument(1),
                        isQuery ? row : Value(), isQuery ? Value() : row,
                        op.getAux()};
  context.keyExtent = getKeyExtent(op);
  SmallVector<Value> edited = build(b, context, place);
  if (isNew && edited == place)
    block.erase();
  else if (isNew)
    YieldOp::create(b, edited);
  else
    block.getTerminator()->setOperands(edited);
}
