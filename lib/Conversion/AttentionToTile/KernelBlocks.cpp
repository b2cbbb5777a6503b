//===- KernelBlocks.cpp - loops over lists of key blocks ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the region of blocks says, as loops of a kernel: their trip counts and
// the keys of each step are scalars in memory, the same for all groups.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3;

FailureOr<KernelBuilder::State>
KernelBuilder::buildListedLoops(ValueRange query, Value firstRow, State init) {
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
  // Behind the last block if it is none, where no key is.
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

  int64_t perBlock = keys / columns;
  auto buildLoop = [&](Value entries, Value before, State state,
                       function_ref<Value(Value)> getBlock,
                       bool isVisible) -> FailureOr<State> {
    Value end = arith::MulIOp::create(b, entries, index(perBlock));
    auto loop = scf::ForOp::create(b, index(0), end, index(1), state.list());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value step = loop.getInductionVar();
    iteration = step;
    if (before)
      iteration = arith::AddIOp::create(
          b, step, arith::MulIOp::create(b, before, index(perBlock)));
    Value entry = step, firstKey;
    if (perBlock > 1) {
      entry = arith::DivUIOp::create(b, step, index(perBlock));
      firstKey = arith::MulIOp::create(
          b, arith::RemUIOp::create(b, step, index(perBlock)), index(columns));
    }
    Value ofBlock = arith::MulIOp::create(b, getBlock(entry), index(keys));
    firstKey = firstKey
                   ? arith::AddIOp::create(b, ofBlock, firstKey).getResult()
                   : ofBlock;
    FailureOr<State> next =
        buildBlock(query, firstRow, firstKey,
                   State::get(loop.getRegionIterArgs()), isVisible);
    if (failed(next))
      return failure();
    scf::YieldOp::create(b, next->list());
    return State::get(loop.getResults());
  };
  FailureOr<State> state = buildLoop(
      steps, Value(), init,
      [&](Value entry) -> Value {
        Value block = readBlock(entry, Masked);
        if (!last)
          return block;
        Value isListed =
            arith::CmpIOp::create(b, arith::CmpIPredicate::slt, entry, masked);
        return arith::SelectOp::create(b, isListed, block, last);
      },
      /*isVisible=*/false);
  if (failed(state) || !hasFull)
    return state;
  return buildLoop(
      full, steps, *state, [&](Value entry) { return readBlock(entry, Full); },
      /*isVisible=*/true);
}
