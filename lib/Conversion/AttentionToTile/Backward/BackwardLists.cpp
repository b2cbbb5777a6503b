//===- BackwardLists.cpp - loops over lists of blocks ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels with rows of queries walk over the blocks of keys that are listed for
// the block of queries that the rows are of, kernels with rows of keys over the
// blocks of queries that are listed for their block of keys.
//===----------------------------------------------------------------------===//

#include "BackwardBuilder.h"

using namespace mlir;
using namespace fa3;
using attention::Sequence;

bool BackwardBuilder::mayBeCut(Sequence sequence, int64_t size) {
  Value array = sequence == Sequence::query ? op.getQ() : op.getK();
  int64_t known = cast<RankedTensorType>(array.getType())
                      .getDimSize(op.getSequenceAxisOf(array));
  return ShapedType::isDynamic(known) || known % size != 0;
}

bool BackwardBuilder::dividesLists() {
  return products.addsDq && op.getSizesOfBlocks() && !op.getMaskMod().empty();
}

BackwardBuilder::Sums BackwardBuilder::buildListed(const Rows &own, Sums sums) {
  auto [queries, keys] = *op.getSizesOfBlocks();
  bool ofKeys = products.ofKeys;
  Sequence ofRows = ofKeys ? Sequence::key : Sequence::query,
           ofColumns = ofKeys ? Sequence::query : Sequence::key;
  Region &region = *op.findList(ofRows);
  Value block =
      arith::DivUIOp::create(b, own.first, index(ofKeys ? keys : queries));
  auto read = [&](Value entry) {
    return sequences.expand(region, {sequences.batch, head, block, entry},
                            sequences.queryLength, sequences.keyLength);
  };
  BlockListing listing;
  listing.read = read;
  listing.hasFull = hasFullList(region);
  listing.size = ofKeys ? queries : keys;
  listing.columns = columns;
  listing.length = sequences.getEnd(ofColumns);
  listing.isDivided = dividesLists();
  listing.mayBeCut = (needsColumns() || !listing.isDivided) &&
                     mayBeCut(ofColumns, listing.size);
  listing.saysList = true;
  // Rows beyond the end are not stored, but enter dq. Where loops are divided
  // the mask of a step says so.
  if (products.addsDq && !listing.isDivided && mayBeCut(ofRows, rows))
    listing.asksAll =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sgt,
                              arith::AddIOp::create(b, own.first, index(rows)),
                              sequences.getEnd(ofRows));
  FailureOr<SmallVector<Value>> result =
      ListedLoop(b, listing)
          .build(sums.list(), [&](const ListedStep &step, ValueRange carried) {
            return buildBlock(own, step, makeSums(carried)).list();
          });
  return makeSums(*result);
}
