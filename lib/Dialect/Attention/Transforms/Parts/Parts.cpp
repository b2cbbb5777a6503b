//===- Parts.cpp - attention on a part of its operands --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Parts.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa3::attention;

/// Whether each sequence has as many queries as q, by a region without mods.
static bool hasQueriesOfQ(Region *lengths) {
  if (!lengths)
    return true;
  Operation *yield = lengths->front().getTerminator();
  auto count = yield->getOperand(0).getDefiningOp<LengthOp>();
  return count && count.getSequence() == Sequence::query;
}

std::optional<Obstacle> fa3::attention::findObstacle(ScoredOpInterface op,
                                                     bool hasAllQueries) {
  if (op.hasPlace(Sequence::query) || op.hasPlace(Sequence::key))
    return Obstacle{false, "its sequences lie anywhere ('place_q', 'place_k', "
                           "packed or paged)"};
  auto forward = dyn_cast<ForwardOp>(op.getOperation());
  if (forward && forward.hasNibbles())
    return Obstacle{false, "its keys hold two integers in a byte, with scales "
                           "of their own"};
  if (!op.getScales().empty())
    return Obstacle{false, "it has operands of 8 bits, whose scales are for "
                           "parts of their own"};
  if (hasAllQueries)
    return std::nullopt;
  if (op.getMaxQ())
    return Obstacle{true, "it has a 'max_q'"};
  if (op.getSizesOfBlocks())
    return Obstacle{true, "it has lists of blocks"};
  // What mods make of the lengths.
  OpBuilder builder(op);
  auto expanded = cast<ScoredOpInterface>(builder.clone(*op.getOperation()));
  expandMods(expanded);
  bool isOwn = !hasQueriesOfQ(expanded.findLengths());
  eraseWithDescriptions(expanded);
  if (isOwn)
    return Obstacle{true, "its sequences have numbers of queries of their own"};
  return std::nullopt;
}

/// Whether mods ask for nothing but the distance of query and key.
static bool isFreeOfPlace(ArrayAttr mods) {
  return !mods || llvm::all_of(mods, [](Attribute mod) {
    return isa<CausalAttr, WindowAttr, PrefixAttr, SoftcapAttr, ChunkAttr,
               DilationAttr>(mod);
  });
}

/// Arguments from `argument` on are batch, head and query, as far as `count`.
static void shift(OpBuilder &b, Region *region, unsigned argument,
                  unsigned count, ArrayRef<OpFoldResult> first) {
  if (!region || region->empty())
    return;
  Block &block = region->front();
  Location loc = region->getLoc();
  OpBuilder::InsertionGuard guard(b);
  for (unsigned dim = 0; dim < count; ++dim) {
    if (getConstantIntValue(first[dim]) == 0)
      continue;
    b.setInsertionPointToStart(&block);
    BlockArgument own = block.getArgument(argument + dim);
    // A constant is one of the region.
    Value offset = getValueOrCreateConstantIndexOp(b, loc, first[dim]);
    auto sum = arith::AddIOp::create(b, loc, own, offset);
    own.replaceAllUsesExcept(sum, sum);
  }
}

/// Numbers of all in the place of those of the part.
static void sayNumbersOfAll(OpBuilder &b, Region &region, bool isOfLengths,
                            const Part &part) {
  if (region.empty())
    return;
  OpBuilder::InsertionGuard guard(b);
  auto replace = [&](Operation *asked, OpFoldResult number) {
    b.setInsertionPoint(asked);
    asked->getResult(0).replaceAllUsesWith(
        getValueOrCreateConstantIndexOp(b, asked->getLoc(), number));
    asked->erase();
  };
  Operation *yield = region.front().getTerminator();
  SmallVector<Operation *> all = llvm::map_to_vector(
      region.front(), [](Operation &inner) { return &inner; });
  for (Operation *inner : all) {
    if (isa<HeadsOp>(inner)) {
      if (!part.hasAll[kHead])
        replace(inner, part.heads);
      continue;
    }
    auto length = dyn_cast<LengthOp>(inner);
    if (!length || length.getSequence() != Sequence::query ||
        part.hasAll[kQuery])
      continue;
    // As many queries as the part has, where the region says how many.
    if (isOfLengths && yield->getOperand(0) == length.getResult()) {
      b.setInsertionPoint(yield);
      yield->setOperand(0, b.clone(*inner)->getResult(0));
    }
    replace(inner, part.queries);
  }
}

void Part::placeRegions(OpBuilder &b, ScoredOpInterface op) const {
  if (!hasAll[kQuery] || !isFreeOfPlace(op.getModsAttr()))
    expandMods(op);
  ownDescriptions(op);
  shift(b, &op.getScoreMod(), 1, kNumDims, first);
  shift(b, &op.getMaskMod(), 0, kNumDims, first);
  shift(b, &op.getKeepMod(), 0, kNumDims, first);
  shift(b, &op.getEpilogue(), 1, kNumDims, first);
  shift(b, op.findLengths(), 0, 1, first);
  if (auto backward = dyn_cast<BackwardOp>(op.getOperation())) {
    shift(b, &backward.getScoreGradRegion(), 2, kNumDims, first);
    shift(b, &backward.getEpilogueGradRegion(), 2, kNumDims, first);
  }
  for (Sequence by : {Sequence::query, Sequence::key})
    shift(b, op.findList(by), 0, 2, first);
  for (Region *region : op.listCode())
    sayNumbersOfAll(b, *region, region == op.findLengths(), *this);
}
