//===- KernelBlocks.cpp - narrow blocks, lists of blocks ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace fa3;

Value KernelBuilder::countWholeBlocks() {
  if (!policy.lastKeys)
    return arith::CeilDivSIOp::create(b, keyLength, index(columns));
  if (!policy.asksLast)
    return arith::DivUIOp::create(b, keyLength, index(columns));
  // What is left fits into the narrow block, or there is one more.
  Value more = index(columns - 1 - policy.lastKeys);
  return arith::FloorDivSIOp::create(
      b, arith::AddIOp::create(b, keyLength, more), index(columns));
}

Value KernelBuilder::hasNarrowBlock(Value firstKey) {
  auto equal = arith::CmpIPredicate::eq, less = arith::CmpIPredicate::slt;
  Value isThere;
  if (policy.asksLast)
    isThere = arith::CmpIOp::create(b, less, firstKey, keyLength);
  if (!operands.inParts)
    return isThere;
  Value parts = memref::DimOp::create(b, operands.o, 0);
  Value owner = arith::SubIOp::create(b, parts, index(1));
  if (operands.partKeys) {
    Value ofKeys =
        arith::DivUIOp::create(b, firstKey, index(operands.partKeys));
    owner = arith::MinSIOp::create(b, ofKeys, owner);
  }
  Value isOwner = arith::CmpIOp::create(b, equal, part, owner);
  return isThere ? arith::AndIOp::create(b, isThere, isOwner).getResult()
                 : isOwner;
}

FailureOr<KernelBuilder::State>
KernelBuilder::buildNarrowBlock(ValueRange query, Value firstRow, Value blocks,
                                State state) {
  Value firstKey = arith::MulIOp::create(b, blocks, index(columns));
  Value condition = hasNarrowBlock(firstKey);
  llvm::SaveAndRestore<int64_t> narrow(columns, policy.lastKeys);
  llvm::SaveAndRestore<bool> first(isFirst, true);
  iteration = index(0);
  if (!condition)
    return buildBlock(query, firstRow, firstKey, state);
  auto branch = scf::IfOp::create(b, TypeRange(ValueRange(state.list())),
                                  condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  FailureOr<State> next = buildBlock(query, firstRow, firstKey, state);
  if (failed(next))
    return failure();
  scf::YieldOp::create(b, next->list());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, state.list());
  return state.with(branch.getResults());
}

FailureOr<KernelBuilder::State>
KernelBuilder::buildListedLoop(ValueRange query, Value firstRow, State init) {
  auto [queries, keys] = *op.getSizesOfBlocks();
  Value ofQueries = arith::DivUIOp::create(b, firstRow, index(queries));
  Region &lists = *op.findList(attention::Sequence::query);
  auto read = [&](Value t) {
    return expandScalars(lists, {batch, head, ofQueries, t});
  };
  // Of keys that are known to fill blocks none is cut.
  int64_t known =
      op.hasLengths()
          ? ShapedType::kDynamic
          : op.getK().getType().getDimSize(op.getSequenceAxisOf(op.getK()));
  BlockListing listing;
  listing.read = read;
  listing.hasFull = hasFullList(lists);
  listing.size = keys;
  listing.columns = columns;
  listing.length = keyLength;
  listing.mayBeCut = ShapedType::isDynamic(known) || known % keys != 0;
  FailureOr<SmallVector<Value>> result =
      ListedLoop(b, listing)
          .build(init.list(),
                 [&](const ListedStep &step,
                     ValueRange carried) -> FailureOr<SmallVector<Value>> {
                   iteration = step.number;
                   FailureOr<State> next = buildBlock(
                       query, firstRow, step.first, init.with(carried), step);
                   if (failed(next))
                     return failure();
                   return next->list();
                 });
  if (failed(result))
    return failure();
  return init.with(*result);
}
