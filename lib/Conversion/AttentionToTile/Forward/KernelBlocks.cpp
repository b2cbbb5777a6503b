//===- KernelBlocks.cpp - a loop over lists of key blocks -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelBuilder.h"

using namespace mlir;
using namespace fa3;

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
