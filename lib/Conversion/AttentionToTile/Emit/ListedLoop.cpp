//===- ListedLoop.cpp - a loop over lists of blocks -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ListedLoop.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3;

using Predicate = arith::CmpIPredicate;

bool fa3::hasFullList(Region &region) {
  constexpr unsigned kFull = 2;
  return !matchPattern(region.front().getTerminator()->getOperand(kFull),
                       m_Zero());
}

Value ListedLoop::add(Value x, Value y) {
  return arith::AddIOp::create(b, x, y);
}

Value ListedLoop::compare(Predicate predicate, Value x, Value y) {
  return arith::CmpIOp::create(b, predicate, x, y);
}

Value ListedLoop::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, condition, x, y);
}

Value ListedLoop::count(List list) {
  Value entries =
      arith::MinSIOp::create(b, listing.read(index(0))[list], blocks);
  return arith::MaxSIOp::create(b, entries, index(0));
}

/// Behind the last block if it is none: a list of masked blocks sees no column
/// there, and one of full blocks columns that are 0.
Value ListedLoop::readBlock(Value entry, List list) {
  Value block = listing.read(entry)[list + 1];
  return select(compare(Predicate::ult, block, blocks), block, blocks);
}

void ListedLoop::countEntries() {
  blocks = blocksOf(listing.length, listing.size);
  masked = count(Masked);
  full = count(Full);
  asked = masked;
  if (listing.hasFull && listing.mayBeCut) {
    // A block at the end, of which some columns are not there, goes with those
    // that are masked. It is the last entry, as entries ascend.
    Value behind = arith::SubIOp::create(b, full, index(1));
    cut = readBlock(arith::MaxSIOp::create(b, behind, index(0)), Full);
    Value size = index(listing.size);
    Value end = arith::MulIOp::create(b, add(cut, index(1)), size);
    Value isCut = compare(Predicate::sgt, end, listing.length);
    Value isThere = compare(Predicate::sgt, full, index(0));
    Value none = index(0), one = index(1);
    Value more = select(arith::AndIOp::create(b, isCut, isThere), one, none);
    asked = add(masked, more);
    full = arith::SubIOp::create(b, full, more);
  }
  others = asked;
  if (listing.hasFull && listing.asksAll) {
    // All of the second list go with them, in their order.
    others = select(listing.asksAll, masked, asked);
    Value all = add(asked, full);
    asked = select(listing.asksAll, all, asked);
    full = select(listing.asksAll, index(0), full);
  }
}

ListedStep ListedLoop::buildStep(Value number) {
  int64_t perBlock = listing.size / listing.columns;
  Value entry = number, inBlock;
  if (perBlock > 1) {
    entry = arith::DivUIOp::create(b, number, index(perBlock));
    Value columns = index(listing.columns);
    inBlock = arith::MulIOp::create(
        b, arith::RemUIOp::create(b, number, index(perBlock)), columns);
  }
  auto getFirst = [&](Value block) -> Value {
    Value first = arith::MulIOp::create(b, block, index(listing.size));
    return inBlock ? add(first, inBlock) : first;
  };
  auto isBelow = [&](Value bound) {
    return compare(Predicate::slt, entry, bound);
  };
  Value block = readBlock(entry, Masked);
  if (cut)
    block = select(isBelow(masked), block, cut);
  ListedStep step;
  step.number = number;
  // The mask is looked at where its own list says, so that only who loads
  // columns reads the other.
  step.first = step.masked = getFirst(block);
  if (!listing.hasFull)
    return step;
  step.isVisible = compare(Predicate::sge, number, firstVisible);
  Value behind = arith::SubIOp::create(b, entry, others);
  Value fullBlock = readBlock(behind, Full);
  block = listing.isDivided ? select(step.isVisible, fullBlock, block)
                            : select(isBelow(others), block, fullBlock);
  step.first = getFirst(block);
  // Where a loop is divided the mask is in steps of its own list only.
  if (listing.asksAll || listing.isDivided)
    step.masked = step.first;
  if (listing.saysList && (cut || listing.asksAll))
    step.isOfFull = compare(Predicate::sge, entry, masked);
  return step;
}

FailureOr<SmallVector<Value>> ListedLoop::build(ValueRange init, Body body) {
  countEntries();
  // One loop for both lists, so that they share rings and a step of one hides
  // the next one's products; which list a step is of is an inequality, by which
  // tile-split-by-predicate divides it.
  Value perBlock = index(listing.size / listing.columns);
  firstVisible = arith::MulIOp::create(b, asked, perBlock);
  Value end = firstVisible;
  if (listing.hasFull)
    end = add(end, arith::MulIOp::create(b, full, perBlock));
  Value one = index(1);
  auto loop = scf::ForOp::create(b, index(0), end, one, init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  ListedStep step = buildStep(loop.getInductionVar());
  FailureOr<SmallVector<Value>> next = body(step, loop.getRegionIterArgs());
  if (failed(next))
    return failure();
  scf::YieldOp::create(b, *next);
  return SmallVector<Value>(loop.getResults());
}
