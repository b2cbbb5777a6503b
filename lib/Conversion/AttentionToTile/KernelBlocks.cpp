//===- KernelBlocks.cpp - a loop over lists of key blocks -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the region of blocks says, as a loop of a kernel: its trip count and the
// keys of each step are scalars in memory, the same for all groups.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3;

FailureOr<KernelBuilder::State>
KernelBuilder::buildListedLoop(ValueRange query, Value firstRow, State init) {
  enum { Masked = 0, Full = 2 }; // the number of entries, then entry t
  auto sizes = *op.getSizesOfBlocks();
  int64_t queries = sizes.first, keys = sizes.second;
  Value ofQueries = arith::DivUIOp::create(b, firstRow, index(queries));
  Value blocks = arith::CeilDivSIOp::create(b, keyLength, index(keys));
  auto read = [&](Value t, unsigned number) {
    return expandScalars(op.getBlocksRegion(),
                         {batch, head, ofQueries, t})[number];
  };
  auto count = [&](unsigned list) -> Value {
    Value entries = arith::MinSIOp::create(b, read(index(0), list), blocks);
    return arith::MaxSIOp::create(b, entries, index(0));
  };
  // Behind the last block if it is none: a list of masked blocks sees no key
  // there, and one of full blocks keys that are 0.
  auto readBlock = [&](Value t, unsigned list) -> Value {
    Value block = read(t, list + 1);
    Value isOne =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, block, blocks);
    return arith::SelectOp::create(b, isOne, block, blocks);
  };

  Value masked = count(Masked), full = count(Full);
  bool hasFull = !matchPattern(
      op.getBlocksRegion().front().getTerminator()->getOperand(Full), m_Zero());
  Value steps = masked, last;
  // Of keys that are known to fill blocks none is cut.
  int64_t known =
      op.hasLengths()
          ? ShapedType::kDynamic
          : op.getK().getType().getDimSize(op.getSequenceAxisOf(op.getK()));
  bool mayBeCut = ShapedType::isDynamic(known) || known % keys != 0;
  if (hasFull && mayBeCut) {
    // A block at the end of the keys, of which some are not there, goes with
    // those that are masked. It is the last entry, as entries ascend.
    Value behind = arith::SubIOp::create(b, full, index(1));
    behind = arith::MaxSIOp::create(b, behind, index(0));
    last = readBlock(behind, Full);
    Value end = arith::MulIOp::create(
        b, arith::AddIOp::create(b, last, index(1)), index(keys));
    Value isCut =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, end, keyLength);
    Value isThere =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, full, index(0));
    Value cut = arith::SelectOp::create(
        b, arith::AndIOp::create(b, isCut, isThere), index(1), index(0));
    steps = arith::AddIOp::create(b, masked, cut);
    full = arith::SubIOp::create(b, full, cut);
  }

  // One loop for both lists, so that they share rings and a step of one hides
  // the next one's products; which list a step is of is an inequality, by which
  // tile-split-by-predicate divides it.
  int64_t perBlock = keys / columns;
  Value firstFull = arith::MulIOp::create(b, steps, index(perBlock));
  Value end = firstFull;
  if (hasFull)
    end = arith::AddIOp::create(
        b, end, arith::MulIOp::create(b, full, index(perBlock)));
  auto loop = scf::ForOp::create(b, index(0), end, index(1), init.list());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value step = loop.getInductionVar();
  iteration = step;
  Value entry = step, inBlock;
  if (perBlock > 1) {
    entry = arith::DivUIOp::create(b, step, index(perBlock));
    inBlock = arith::MulIOp::create(
        b, arith::RemUIOp::create(b, step, index(perBlock)), index(columns));
  }
  // The mask is looked at where its own list says, so that only who loads keys
  // reads the other.
  Value block = readBlock(entry, Masked);
  auto isBelow = [&](Value number) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, entry, number);
  };
  if (last)
    block = arith::SelectOp::create(b, isBelow(masked), block, last);
  auto getFirstKey = [&](Value block) -> Value {
    Value first = arith::MulIOp::create(b, block, index(keys));
    return inBlock ? arith::AddIOp::create(b, first, inBlock).getResult()
                   : first;
  };
  ListedBlock listed{Value(), getFirstKey(block)};
  if (hasFull) {
    listed.isVisible =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sge, step, firstFull);
    Value behind = arith::SubIOp::create(b, entry, steps);
    block = arith::SelectOp::create(b, isBelow(steps), block,
                                    readBlock(behind, Full));
  }
  FailureOr<State> next =
      buildBlock(query, firstRow, getFirstKey(block),
                 State::get(loop.getRegionIterArgs()), listed);
  if (failed(next))
    return failure();
  scf::YieldOp::create(b, next->list());
  return State::get(loop.getResults());
}
