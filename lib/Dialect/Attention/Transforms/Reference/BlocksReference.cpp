//===- BlocksReference.cpp - list_blocks by definition --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "BlocksReference.h"
#include "ReferenceLoops.h"
#include "ReferenceRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3::attention;

namespace {
class BlocksBuilder : ReferenceLoops {
public:
  BlocksBuilder(ImplicitLocOpBuilder &b, HostFunction &host,
                const HostBlockLists &lists)
      : ReferenceLoops(b.getLoc(), b), host(host), lists(lists), op(lists.op) {}

  void build();

private:
  Value isVisible(ValueRange place);
  /// Gives the numbers of entries of both lists with the block.
  SmallVector<Value> listBlock(ValueRange place, Value block,
                               ValueRange counts);
  Value append(Value condition, Value count, Value entries, ValueRange place,
               Value block);

  HostFunction &host;
  const HostBlockLists &lists;
  ListBlocksOp op;
};
} // namespace

Value BlocksBuilder::isVisible(ValueRange place) {
  Block &block = op.getMaskMod().front();
  IRMapping mapping(host.values);
  mapping.map(block.getArguments(), place);
  for (auto [tensor, memref] : llvm::zip(op.getAux(), lists.aux))
    mapping.map(tensor, memref);
  for (Operation &inner : block.without_terminator()) {
    if (auto length = dyn_cast<LengthOp>(inner)) {
      bool isKey = length.getSequence() == Sequence::key;
      mapping.map(length.getResult(), isKey ? lists.keys : lists.queries);
    } else if (auto dim = dyn_cast<tensor::DimOp>(inner)) {
      mapping.map(dim.getResult(),
                  memref::DimOp::create(
                      b, dim.getLoc(), mapping.lookup(dim.getSource()),
                      mapping.lookupOrDefault(dim.getIndex())));
    } else if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
      mapping.map(extract.getResult(), readElement(b, extract, mapping));
    } else {
      cloneScalar(b, inner, mapping);
    }
  }
  return mapping.lookupOrDefault(
      cast<YieldOp>(block.getTerminator()).getValue());
}

/// Puts the block behind the `count` others of a list if it belongs there, and
/// gives their number then.
Value BlocksBuilder::append(Value condition, Value count, Value entries,
                            ValueRange place, Value block) {
  auto branch = scf::IfOp::create(b, TypeRange(), condition,
                                  /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> at(place);
    at.push_back(count);
    Value number = arith::IndexCastOp::create(b, b.getI32Type(), block);
    memref::StoreOp::create(b, number, entries, at);
  }
  Value next = arith::AddIOp::create(b, count, one);
  return arith::SelectOp::create(b, condition, next, count);
}

SmallVector<Value> BlocksBuilder::listBlock(ValueRange place, Value block,
                                            ValueRange counts) {
  auto getRange = [&](Value number, int64_t size, Value length) {
    Value first = arith::MulIOp::create(b, number, index(size));
    Value end = arith::AddIOp::create(b, first, index(size));
    return std::pair(first, arith::MinSIOp::create(b, end, length).getResult());
  };
  auto [firstQuery, endQuery] =
      getRange(place[2], op.getSizes()[0], lists.queries);
  auto [firstKey, endKey] = getRange(block, op.getSizes()[1], lists.keys);
  Value no = arith::ConstantIntOp::create(b, b.getI1Type(), 0),
        yes = arith::ConstantIntOp::create(b, b.getI1Type(), 1);
  // Whether any pair is visible, and any is not.
  SmallVector<Value> found = carry(
      firstQuery, endQuery, {no, no}, [&](Value query, ValueRange ofRows) {
        return carry(firstKey, endKey, ofRows,
                     [&](Value key, ValueRange before) -> SmallVector<Value> {
                       Value keep = isVisible({place[0], place[1], query, key});
                       Value hides = arith::XOrIOp::create(b, keep, yes);
                       return {arith::OrIOp::create(b, before[0], keep),
                               arith::OrIOp::create(b, before[1], hides)};
                     });
      });
  Value isCut = arith::AndIOp::create(b, found[0], found[1]);
  Value isWhole = arith::AndIOp::create(
      b, found[0], arith::XOrIOp::create(b, found[1], yes));
  return {append(isCut, counts[0], lists.index, place, block),
          append(isWhole, counts[1], lists.fullIndex, place, block)};
}

void BlocksBuilder::build() {
  Value none = arith::ConstantIntOp::create(b, b.getI32Type(), 0);
  auto buildRow = [&](Value batch, Value head, Value ofQueries) {
    Value place[] = {batch, head, ofQueries};
    loop(lists.keyBlocks, [&](Value entry) {
      for (Value entries : {lists.index, lists.fullIndex})
        memref::StoreOp::create(b, none, entries,
                                ValueRange{batch, head, ofQueries, entry});
    });
    SmallVector<Value> counts = carry(zero, lists.keyBlocks, {zero, zero},
                                      [&](Value block, ValueRange before) {
                                        return listBlock(place, block, before);
                                      });
    Value targets[] = {lists.count, lists.fullCount};
    for (auto [number, count] : llvm::zip_equal(counts, targets))
      memref::StoreOp::create(
          b, arith::IndexCastOp::create(b, b.getI32Type(), number), count,
          place);
  };
  loop(lists.batch, [&](Value batch) {
    loop(lists.heads, [&](Value head) {
      loop(lists.queryBlocks,
           [&](Value ofQueries) { buildRow(batch, head, ofQueries); });
    });
  });
}

void fa3::attention::buildBlocksReference(ImplicitLocOpBuilder &b,
                                          HostFunction &host,
                                          const HostBlockLists &lists) {
  BlocksBuilder(b, host, lists).build();
}
