//===- KernelOutput.cpp - the output, edited, goes to memory --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The `epilogue` region becomes element-wise code on the tile of the output,
// and what it reads is loaded by the threads that use it: once for a tile.
// Where a tile of the output leaves no registers for that, a kernel of its own
// edits what the first one has stored in f32, a few columns at a time.
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <numeric>

using namespace mlir;
using namespace fa3;

using Expander = ScalarRegionExpander;

void KernelBuilder::storeRounded(Value tile, Value array, ValueRange place) {
  Type element = cast<MemRefType>(array.getType()).getElementType();
  auto type = cast<RankedTensorType>(tile.getType());
  if (!element.isF32())
    tile = arith::TruncFOp::create(b, tensor(type.getShape(), element), tile);
  tile::StoreOp::create(b, tile, array, place, storeEnd, /*add=*/UnitAttr(),
                        getFold());
}

Value KernelBuilder::editOutput(Value out, Value firstRow, Value firstColumn) {
  int64_t width = cast<RankedTensorType>(out.getType()).getDimSize(1);
  Expander expander(b, rows, width);
  auto [row, ofHead] = buildRows(firstRow);
  Value column = tile::CoordOp::create(b, tensor({width}, b.getIndexType()), 0,
                                       firstColumn);
  expander.bindLengths(queryLength, keyLength);
  for (auto [tensor, memref] : llvm::zip(op.getAux(), operands.aux))
    expander.bindAux(tensor, memref);
  Region &region = op.getEpilogue();
  expander.bind(region.getArgument(0), {out, Expander::Both});
  bindPlace(expander, region, {batch, ofHead, row, {column, Expander::Columns}},
            operands.captures);
  Operation *last = &*std::prev(b.getInsertionPoint());
  Value edited =
      expander.lift(b.getLoc(), expander.expand(region), Expander::Both);
  for (Operation *it = last->getNextNode(); it; it = it->getNextNode()) {
    if (isa<tile::LoadOp>(it))
      it->setAttr(tile::TileDialect::kRoleAttrName, b.getStringAttr("math"));
    if (it == edited.getDefiningOp())
      break;
  }
  return edited;
}

void KernelBuilder::storeOutput(Value out, Value firstRow, Value firstColumn) {
  SmallVector<Value> place = getPlace(firstRow, firstColumn);
  if (!op || op.getEpilogue().empty() || operands.isUnedited)
    return storeRounded(out, operands.o, place);
  if (operands.plain)
    storeRounded(out, operands.plain, place);
  storeRounded(editOutput(out, firstRow, firstColumn), operands.o, place);
}

bool fa3::fitsOutput(attention::ForwardOp op, int64_t blockM) {
  // Of a thread that has 64 rows with three others of its warp group: the
  // output, elements as they are read, and widened. Of three groups or more the
  // first two fill what a thread has, as tile-check-registers counts.
  constexpr int64_t kMost = 160, kMostOfMany = 128, kBits = 32;
  int64_t most = blockM > 2 * kReplicaRows ? kMostOfMany : kMost;
  int64_t tile = getTileWidth(op.getValueHeadDim()) / 2, needed = tile,
          alive = tile;
  if (op.getPlain()) {
    needed += tile / 2;
    alive += tile / 2;
  }
  auto addTile = [&](int64_t bits) {
    needed += tile * bits / kBits + (bits < kBits ? tile : 0);
    alive += tile * bits / kBits;
  };
  auto fits = [&] { return needed <= kMost && alive <= most; };
  if (Value previous = op.getPreviousO())
    addTile(
        cast<RankedTensorType>(previous.getType()).getElementTypeBitWidth());
  Region &region = op.getEpilogue();
  if (region.empty())
    return fits();
  Value column = region.getArguments().back();
  for (auto read : region.getOps<tensor::ExtractOp>()) {
    if (!llvm::is_contained(read.getIndices(), column) ||
        read.getIndices().size() == 1)
      continue;
    addTile(read.getType().getIntOrFloatBitWidth());
  }
  return fits();
}

void KernelBuilder::buildEdit(const AttentionResults &unedited) {
  merges = true;
  auto source = cast<MemRefType>(unedited.o.getType());
  Value firstRow = buildGrid(index(source.getShape().back() / columns));
  Value firstColumn = arith::MulIOp::create(b, part, index(columns));
  Value out = loadByThreads(tensor({rows, columns}, b.getF32Type()), unedited.o,
                            getPlace(firstRow, firstColumn));
  if (!operands.previousO)
    return storeOutput(out, firstRow, firstColumn);
  // lse are natural logarithms.
  isLarge = true;
  Value lse = loadByThreads(rowType(), unedited.lse, getPlace(firstRow));
  Value maximum =
      arith::MaxNumFOp::create(b, lse, splat(rowType(), getLowestMaximum()));
  Value weight = exp2(asExponent(sub(lse, maximum)));
  Merged own{mul(out, alongColumns(weight, columns)), maximum, weight};
  storeMerged(addPrevious(own, firstRow, firstColumn), /*largest=*/Value(),
              firstRow, firstColumn);
}

void fa3::buildEditBody(OpBuilder &builder, attention::ForwardOp op,
                        const KernelOperands &operands,
                        const AttentionResults &unedited) {
  OpBuilder::InsertionGuard guard(builder);
  constexpr int64_t kMostColumns = 32;
  int64_t width = cast<MemRefType>(unedited.o.getType()).getShape().back();
  AccumulationPolicy policy = {};
  KernelBuilder(builder, op, operands,
                {kReplicaRows, std::gcd(width, kMostColumns)}, policy)
      .buildEdit(unedited);
}
