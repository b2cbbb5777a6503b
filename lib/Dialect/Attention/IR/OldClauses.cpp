//===- OldClauses.cpp - sequences and lists as they were written ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "OldClauses.h"
#include "ScalarRegions.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa3::attention;

ParseResult OldClauses::parseMaxQ() {
  if (failed(parser.parseOptionalKeyword("max_q")))
    return success();
  return parser.parseOperand(maxQ.emplace());
}

ParseResult OldClauses::parseSequences() {
  return failure(parseIndexCode(parser, lengths, "lengths", 1) ||
                 parseIndexCode(parser, placeQ, "place_q", 3) ||
                 parseIndexCode(parser, placeK, "place_k", 3));
}

ParseResult OldClauses::parsePlace() {
  return parseIndexCode(parser, placeK, "place", 3);
}

ParseResult OldClauses::parseBlocks(bool withKeys) {
  if (succeeded(parser.parseOptionalKeyword("blocks"))) {
    DenseI64ArrayAttr given;
    SmallVector<Type> types(4, parser.getBuilder().getIndexType());
    if (parseSizes(parser, given) ||
        parseRegion(parser, byQuery, types, "blocks"))
      return failure();
    sizes.assign(given.asArrayRef().begin(), given.asArrayRef().end());
  }
  return withKeys ? parseIndexCode(parser, byKey, "blocks_by_key", 4)
                  : ParseResult(success());
}

Block *OldClauses::findBlock(ValueRange operands, ArrayRef<Region *> regions) {
  Block *found = nullptr;
  auto add = [&](Value value) {
    Block *block = value.getParentBlock();
    bool isFirst = !found;
    if (isFirst)
      found = block;
    return block && block == found;
  };
  if (!llvm::all_of(operands, add))
    return nullptr;
  for (Region *region : regions)
    for (Operation &op : region->getOps())
      for (Value operand : op.getOperands())
        if (operand.getParentRegion() != region && !add(operand))
          return nullptr;
  return found;
}

template <typename Op, typename... Arguments>
Value OldClauses::create(ValueRange operands, ArrayRef<Region *> regions,
                         StringRef clause, Arguments &&...arguments) {
  Block *block = findBlock(operands, regions);
  if (!block) {
    parser.emitError(loc) << "expects '" << Op::getOperationName()
                          << "' in front: the clause '" << clause
                          << "' stands for it only where all that is used is "
                             "of one block, and defined before";
    return {};
  }
  // The block may be in no region yet. One that has been read to its end has a
  // terminator.
  OpBuilder builder(parser.getContext());
  bool isWhole =
      !block->empty() && block->back().hasTrait<OpTrait::IsTerminator>();
  builder.setInsertionPoint(block,
                            isWhole ? std::prev(block->end()) : block->end());
  auto op = Op::create(builder, result.location,
                       std::forward<Arguments>(arguments)...);
  for (auto [from, to] : llvm::zip_equal(regions, op->getRegions()))
    to.takeBody(*from);
  return op.getResult();
}

StringRef OldClauses::getClauseOfSequences() {
  bool isAppend = result.name.getStringRef() == AppendOp::getOperationName();
  return !lengths.empty()  ? "lengths"
         : !placeQ.empty() ? "place_q"
         : !placeK.empty() ? (isAppend ? "place" : "place_k")
         : maxQ            ? "max_q"
                           : "";
}

StringRef OldClauses::getClauseOfBlocks() {
  return !byQuery.empty() ? "blocks" : !byKey.empty() ? "blocks_by_key" : "";
}

ParseResult OldClauses::createSequences(StringRef clause, Value &sequences) {
  SmallVector<Value> most;
  if (maxQ &&
      parser.resolveOperand(*maxQ, parser.getBuilder().getIndexType(), most))
    return failure();
  SmallVector<Value> used = llvm::to_vector(result.operands);
  llvm::append_range(used, most);
  sequences = create<SequencesOp>(used, {&lengths, &placeQ, &placeK}, clause,
                                  SequencesType::get(parser.getContext()),
                                  most.empty() ? Value() : most.front());
  return success(bool(sequences));
}

ParseResult OldClauses::createBlocks(StringRef clause, Value &blocks) {
  if (sizes.empty())
    return parser.emitError(loc)
           << "expects 'blocks [m, n]' in front of 'blocks_by_key'";
  blocks = create<BlocksOp>(result.operands, {&byQuery, &byKey}, clause,
                            BlocksType::get(parser.getContext()), sizes);
  return success(bool(blocks));
}

ParseResult OldClauses::build(MutableArrayRef<int32_t> segments,
                              unsigned number) {
  auto add = [&](unsigned segment, StringRef name, StringRef clause,
                 auto create) -> ParseResult {
    if (clause.empty())
      return success();
    if (segments[segment])
      return parser.emitError(loc) << "expects '" << name << "' or the clause '"
                                   << clause << "', got both";
    Value value;
    if ((this->*create)(clause, value))
      return failure();
    int32_t position = 0;
    for (int32_t count : segments.take_front(segment))
      position += count;
    result.operands.insert(result.operands.begin() + position, value);
    segments[segment] = 1;
    return success();
  };
  if (add(number, "sequences", getClauseOfSequences(),
          &OldClauses::createSequences))
    return failure();
  return number + 1 == segments.size()
             ? ParseResult(success())
             : add(number + 1, "blocks", getClauseOfBlocks(),
                   &OldClauses::createBlocks);
}
