//===- BackwardTableStep.cpp - sums of a table's gradient -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Blocks of pairs that read the same elements are summed up in registers, in
// the order of a loop: those along a diagonal where elements belong to
// differences of query and key, and those of several sequences. What is left is
// added in memory. Other tables take a loop over keys, and every block adds.
//===----------------------------------------------------------------------===//

#include "../Backward/BackwardBuilder.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Dialect/Tile/IR/TileExactOps.h"

using namespace mlir;
using namespace fa3;
using attention::Sequence;

using Expander = ScalarRegionExpander;

void BackwardBuilder::addToTable(Expander &expander, Value terms,
                                 Value number) {
  const attention::AuxPlace &place = operands.auxPlace;
  Value copies = dim(operands.auxGrad, 0);
  SmallVector<Value> at = {arith::RemUIOp::create(b, number, copies)};
  bool isUniform = llvm::all_of(place.computed, [&](Value index) {
    return expander.get(index).varies == Expander::Uniform;
  });
  for (auto [axis, index] : llvm::enumerate(place.computed)) {
    Expander::Entry entry = expander.get(index);
    bool isNumber = entry.varies == Expander::Uniform &&
                    !(isUniform && axis + 1 == place.computed.size());
    at.push_back(isNumber ? entry.value
                          : expander.lift(b.getLoc(), entry, Expander::Both));
  }
  tile::AddExactOp::create(b, terms, operands.auxGrad, at,
                           attention::isAlongDiagonals(op, place));
}

/// The elements of a table that the pairs of a tile of queries read.
void BackwardBuilder::buildAuxOfTable(Value first) {
  keyHead = arith::DivUIOp::create(b, head, group);
  buildColumns(loadQueries(first, rows, /*areSummed=*/false), Sums());
}

bool BackwardBuilder::walksAlongDiagonals() {
  // A step has to end where a block begins.
  return attention::isAlongDiagonals(op, operands.auxPlace) &&
         rows % columns == 0;
}

bool BackwardBuilder::walksOverBlocks() {
  return walksAlongDiagonals() ||
         attention::isSharedByBatch(op, operands.auxPlace);
}

Value BackwardBuilder::countWalks() {
  Value ofQueries = blocksOf(sequences.getExtent(Sequence::query), rows),
        ofKeys = blocksOf(sequences.getExtent(Sequence::key), columns);
  if (!walksAlongDiagonals())
    return arith::MulIOp::create(b, ofQueries, ofKeys);
  // One from each block of the first row, and from the first columns of each
  // further row, as many as a step is wide.
  Value further = arith::SubIOp::create(b, ofQueries, index(1));
  further = arith::MaxSIOp::create(b, further, index(0));
  Value ofFurther = arith::MulIOp::create(b, further, index(rows / columns));
  return arith::AddIOp::create(b, ofKeys, ofFurther);
}

BackwardBuilder::Walk BackwardBuilder::getWalk(Value number) {
  Value queries = sequences.getExtent(Sequence::query),
        keys = sequences.getExtent(Sequence::key);
  Value ofKeys = blocksOf(keys, columns), row, column;
  if (!walksAlongDiagonals()) {
    row = arith::DivUIOp::create(b, number, ofKeys);
    column = arith::RemUIOp::create(b, number, ofKeys);
    return {arith::MulIOp::create(b, row, index(rows)),
            arith::MulIOp::create(b, column, index(columns)), index(1)};
  }
  Value isOfFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number, ofKeys);
  Value behind = arith::SubIOp::create(b, number, ofKeys);
  Value perRow = index(rows / columns);
  Value second = index(1);
  row = arith::AddIOp::create(b, arith::DivUIOp::create(b, behind, perRow),
                              second);
  row = arith::SelectOp::create(b, isOfFirst, index(0), row);
  column = arith::SelectOp::create(b, isOfFirst, number,
                                   arith::RemUIOp::create(b, behind, perRow));
  Walk walk;
  walk.query = arith::MulIOp::create(b, row, index(rows));
  walk.key = arith::MulIOp::create(b, column, index(columns));
  auto stepsTo = [&](Value end, Value first) -> Value {
    Value left = arith::SubIOp::create(b, end, first);
    return blocksOf(arith::MaxSIOp::create(b, left, index(0)), rows);
  };
  Value toLastKey = stepsTo(keys, walk.key);
  Value toLastQuery = stepsTo(queries, walk.query);
  walk.count = arith::MinSIOp::create(b, toLastQuery, toLastKey);
  return walk;
}

int64_t BackwardBuilder::getSequencesOfWalk() {
  // Few enough that there is work for each SM.
  constexpr int64_t kMost = 16;
  return attention::isSharedByBatch(op, operands.auxPlace) ? kMost : 1;
}

void BackwardBuilder::buildAuxOfWalks() {
  int64_t ofWalk = getSequencesOfWalk();
  sequences.readExtents();
  Value batches = dim(operands.q, 0);
  ValueRange position =
      openGrid({countWalks(), heads, blocksOf(batches, ofWalk)});
  Walk walk = getWalk(position[0]);
  head = position[1];
  keyHead = arith::DivUIOp::create(b, head, group);
  Value firstBatch = arith::MulIOp::create(b, position[2], index(ofWalk));
  sequences.setSequence(firstBatch);
  Expander expander(b, rows, columns);
  bindPlace(expander, op.getScoreMod(),
            bindArrays(expander, walk.query, walk.key), operands.captures);
  auto values = attention::getSharedValues(op, walksAlongDiagonals(),
                                           /*byBatch=*/ofWalk > 1);
  expander.expandOperationsOf(op.getScoreMod(), values);
  for (Value value : values)
    shared.push_back({value, expander.get(value)});

  auto buildOne = [&](Sums carried) {
    // Blocks that the end cuts come first.
    return loop(walk.count, carried, [&](Value step, Sums carried) {
      Value last = arith::SubIOp::create(b, walk.count, index(1));
      Value perStep = index(rows);
      Value moved = arith::MulIOp::create(
          b, arith::SubIOp::create(b, last, step), perStep);
      Value query = arith::AddIOp::create(b, walk.query, moved);
      Value key = arith::AddIOp::create(b, walk.key, moved);
      return buildBlock(loadQueries(query, rows, /*areSummed=*/false), key,
                        carried);
    });
  };
  Sums sums;
  sums.ofAux = splat(tensor({rows, columns}, b.getF32Type()), 0.0);
  if (ofWalk == 1) {
    sums = buildOne(sums);
  } else {
    Value left = arith::SubIOp::create(b, batches, firstBatch);
    Value count = arith::MinSIOp::create(b, left, index(ofWalk));
    sums = loop(count, sums, [&](Value number, Sums carried) {
      sequences.setSequence(arith::AddIOp::create(b, firstBatch, number));
      if (walksAlongDiagonals())
        return buildOne(carried);
      return buildBlock(loadQueries(walk.query, rows, /*areSummed=*/false),
                        walk.key, carried);
    });
  }
  addToTable(expander, sums.ofAux,
             arith::AddIOp::create(b, position[0], position[2]));
}
