//===- KernelPlaces.cpp - lengths and places of sequences -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the regions of lengths and places say, as scalars of a kernel.
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fa3;
using attention::Sequence;

SmallVector<Value> KernelBuilder::expandScalars(Region &region,
                                                ValueRange arguments) {
  Expander expander(b, rows, columns);
  for (auto [from, to] : llvm::zip_equal(region.getArguments(), arguments))
    expander.bind(from, {to, Expander::Uniform});
  for (auto [from, to] : operands.captures.getValueMap())
    expander.bind(from, {to, Expander::Uniform});
  for (auto [tensor, memref] : llvm::zip(op.getAux(), operands.aux))
    expander.bindAux(tensor, memref);
  expander.bindLengths(queryLength, keyLength);
  LogicalResult expanded = expander.expandOperations(region);
  assert(succeeded(expanded) && "scalars have a form for all that regions do");
  (void)expanded;
  return llvm::map_to_vector(
      region.front().getTerminator()->getOperands(),
      [&](Value value) { return expander.get(value).value; });
}

Value KernelBuilder::buildBatch() {
  if (!operands.batch.aux)
    return memref::DimOp::create(b, operands.q, 0);
  Value array = operands.aux[*operands.batch.aux];
  Value extent = memref::DimOp::create(b, array, operands.batch.axis);
  if (operands.batch.more == 0)
    return extent;
  extent = arith::SubIOp::create(b, extent, index(operands.batch.more));
  return arith::MaxSIOp::create(b, extent, index(0));
}

void KernelBuilder::buildLengths() {
  if (!op.hasLengths()) {
    storeEnd = endRow;
    return;
  }
  SmallVector<Value> lengths = expandScalars(op.getLengthsRegion(), batch);
  auto limit = [&](Value length, Sequence sequence, Value extent) -> Value {
    length = arith::MaxSIOp::create(b, length, index(0));
    return op.hasPlace(sequence)
               ? length
               : arith::MinSIOp::create(b, length, extent).getResult();
  };
  queryLength = limit(lengths[0], Sequence::query, queryLength);
  keyLength = limit(lengths[1], Sequence::key, keyLength);
  endRow =
      operands.maxQ
          ? arith::MinSIOp::create(b, queryLength, operands.maxQ).getResult()
          : queryLength;
  storeEnd = getRowPlace(Sequence::query, head, endRow).back();
}

SmallVector<Value> KernelBuilder::getRowPlace(Sequence sequence, Value ofHead,
                                              Value row) {
  Region &region = op.getPlaceRegion(sequence);
  if (region.empty())
    return {batch, ofHead, row};
  return expandScalars(region, {batch, ofHead, row});
}
