//===- Sequences.cpp - lengths and places of sequences --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What operations share that take attention.sequences: accessors, and code that
// mods add to it.
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

/// The sequences that an operation takes; null for none.
static SequencesOp getSequences(Operation *op) {
  auto append = dyn_cast<AppendOp>(op);
  Value value = append ? Value(append.getSequences())
                       : cast<ScoredOpInterface>(op).getSequences();
  return value ? value.getDefiningOp<SequencesOp>() : SequencesOp();
}

static Region *orNull(Region &region) {
  return region.empty() ? nullptr : &region;
}

Region *fa3::attention::findLengths(Operation *op) {
  SequencesOp sequences = getSequences(op);
  return sequences ? orNull(sequences.getLengths()) : nullptr;
}

Region *fa3::attention::findPlace(Operation *op, Sequence sequence) {
  SequencesOp sequences = getSequences(op);
  return sequences ? orNull(sequences.getPlace(sequence)) : nullptr;
}

Value fa3::attention::getMaxQ(Operation *op) {
  SequencesOp sequences = getSequences(op);
  return sequences ? sequences.getMaxQ() : Value();
}

Region *AppendOp::findPlace() {
  return fa3::attention::findPlace(*this, Sequence::key);
}

bool fa3::attention::hasPlace(Operation *op, Sequence sequence) {
  return findPlace(op, sequence) ||
         hasMod(cast<ScoredOpInterface>(op),
                [&](ModAttrInterface mod) { return mod.hasPlace(sequence); });
}

bool fa3::attention::hasLengths(Operation *op) {
  return findLengths(op) ||
         hasMod(cast<ScoredOpInterface>(op),
                [](ModAttrInterface mod) { return mod.hasLengths(); });
}

int64_t fa3::attention::getPlaceRank(Operation *operation, Sequence sequence) {
  auto op = cast<ScoredOpInterface>(operation);
  int64_t rank = 3;
  if (Region *region = findPlace(op, sequence))
    if (auto yield = dyn_cast<YieldOp>(region->front().getTerminator()))
      rank = yield.getValues().size();
  if (ArrayAttr mods = op.getModsAttr())
    for (Attribute attribute : mods)
      if (auto mod = dyn_cast<ModAttrInterface>(attribute))
        rank = mod.getPlaceRank(sequence, rank);
  return rank;
}

bool fa3::attention::isOfSequences(Region *region) {
  return isa<SequencesOp>(region->getParentOp());
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

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

/// The sequences of an operation, with nothing in them where it has none, in
/// front of it and taken by nothing else.
static SequencesOp getOrCreateSequences(Operation *op) {
  ownDescriptions(op);
  if (SequencesOp sequences = getSequences(op))
    return sequences;
  OpBuilder builder(op);
  auto sequences = SequencesOp::create(builder, op->getLoc(),
                                       SequencesType::get(op->getContext()),
                                       /*maxQ=*/Value());
  auto append = dyn_cast<AppendOp>(op);
  MutableOperandRange operand =
      append ? append.getSequencesMutable()
             : cast<ScoredOpInterface>(op).getSequencesMutable();
  operand.assign(sequences.getResult());
  return sequences;
}

/// Takes away sequences that say nothing.
static void dropIfEmpty(Operation *op, SequencesOp sequences) {
  if (!sequences.isEmpty())
    return;
  auto append = dyn_cast<AppendOp>(op);
  MutableOperandRange operand =
      append ? append.getSequencesMutable()
             : cast<ScoredOpInterface>(op).getSequencesMutable();
  operand.clear();
  sequences.erase();
}

/// The block of a region, made if it has none, with so many indices.
static Block &getOrCreateBlock(Region &region, unsigned count, Location loc) {
  if (region.empty())
    for (Block &block = region.emplaceBlock(); block.getNumArguments() < count;)
      block.addArgument(IndexType::get(loc.getContext()), loc);
  return region.front();
}

/// Rows of k along its sequence dimension.
static int64_t getKeyExtent(ScoredOpInterface op) {
  return cast<RankedTensorType>(op.getK().getType())
      .getDimSize(op.getSequenceAxisOf(op.getK()));
}

void fa3::attention::appendLengths(Operation *operation, LengthsBuilder build) {
  auto op = cast<ScoredOpInterface>(operation);
  SequencesOp sequences = getOrCreateSequences(op);
  Region &region = sequences.getLengths();
  bool isNew = region.empty();
  Block &block = getOrCreateBlock(region, 1, op->getLoc());
  auto b = ImplicitLocOpBuilder::atBlockEnd(op->getLoc(), &block);
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
    return dropIfEmpty(op, sequences);
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

/// Edits the place of queries or of keys of an operation; `context` has what is
/// known of that.
static void appendPlaceTo(Operation *op, SequencesOp sequences,
                          Sequence sequence, ModContext context,
                          PlaceBuilder build) {
  Region &region = sequences.getPlace(sequence);
  bool isNew = region.empty();
  Block &block = getOrCreateBlock(region, 3, op->getLoc());
  auto b = ImplicitLocOpBuilder::atBlockEnd(op->getLoc(), &block);
  SmallVector<Value> place(block.getArguments());
  if (!isNew) {
    b.setInsertionPoint(block.getTerminator());
    place.assign(block.getTerminator()->operand_begin(),
                 block.getTerminator()->operand_end());
  }
  context.batch = block.getArgument(0);
  context.head = block.getArgument(1);
  (sequence == Sequence::query ? context.query : context.key) =
      block.getArgument(2);
  SmallVector<Value> edited = build(b, context, place);
  if (isNew && edited == place) {
    block.erase();
    return dropIfEmpty(op, sequences);
  }
  if (isNew)
    YieldOp::create(b, edited);
  else
    block.getTerminator()->setOperands(edited);
}

void fa3::attention::appendPlace(Operation *operation, Sequence sequence,
                                 PlaceBuilder build) {
  auto op = cast<ScoredOpInterface>(operation);
  // It is an operand: others may move for it.
  SequencesOp sequences = getOrCreateSequences(op);
  ModContext context;
  context.aux = op.getAux();
  context.keyExtent = getKeyExtent(op);
  appendPlaceTo(op, sequences, sequence, context, build);
}

void AppendOp::appendPlace(PlaceBuilder build) {
  SequencesOp sequences = getOrCreateSequences(*this);
  ModContext context;
  context.aux = getAux();
  auto cache = cast<RankedTensorType>(getCache().getType());
  context.keyExtent =
      cache.getDimSize(getRowAxis(getLayout(), cache.getRank()));
  context.isWritten = true;
  appendPlaceTo(*this, sequences, Sequence::key, context, build);
}
