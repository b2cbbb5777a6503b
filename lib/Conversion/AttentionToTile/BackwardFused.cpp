//===- BackwardFused.cpp - scores once, dq added in memory ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "BackwardFused.h"
#include "BackwardStep.h"
#include "KernelMath.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fa3;

namespace {
constexpr int64_t kKeys = 128;
/// Registers of a thread, of 240, that sums, scores and what is converted of
/// them may fill; statistics of queries come from shared memory one by one.
constexpr int64_t kRegisters = 224;
/// Columns that a store or a conversion takes at once.
constexpr int64_t kWidth = 64;
constexpr int64_t kConvertedRows = 64;
} // namespace

std::optional<BackwardPart>
fa3::planFusedBackward(int64_t d, int64_t dv, const BackwardDemand &demand) {
  // Two warp groups share 128 queries, or the columns of 64: whole blocks of
  // shared memory for each.
  constexpr int64_t kColumns[] = {128, 64};
  constexpr int64_t kBlock = 64, kGroups = 2;
  // What is random has no room beside all sums.
  if (demand.dropsWeights)
    return std::nullopt;
  // Scores and gradients of weights, and what is converted. Numbers of pairs
  // that only masks take are alive in steps of their own.
  int64_t quarters = 5 + 2 * demand.keptTiles + 2 * demand.loadedTiles +
                     2 * demand.scoresUseNumbers;
  for (int64_t columns : kColumns) {
    bool divides =
        columns % (kBlock * kGroups) == 0 || d % (kBlock * kGroups) == 0;
    if (!divides ||
        (d + dv) / 2 + columns * quarters / 4 + demand.sequenceRegisters >
            kRegisters)
      continue;
    BackwardPart part;
    part.products.ofKeys = part.products.dk = part.products.dv = true;
    part.products.addsDq = true;
    part.tile = {kKeys, columns};
    return part;
  }
  return std::nullopt;
}

bool fa3::isFusedFaster(const BackwardPart &fused, bool isMasked,
                        std::optional<int64_t> queries,
                        std::optional<int64_t> keys) {
  // Few steps leave little behind which starts and the additions in memory are
  // hidden; narrow ones leave less, and those that a mask skips nothing.
  constexpr int64_t kWideStep = 128;
  struct Shortest {
    int64_t unmasked, masked;
  };
  constexpr Shortest kOfWide = {725, 1450}, kOfNarrow = {1450, 2900};
  bool isWide = fused.tile.blockN >= kWideStep;
  if (!queries || !keys)
    return isWide || !isMasked;
  const Shortest &shortest = isWide ? kOfWide : kOfNarrow;
  return std::max(*queries, *keys) >=
         (isMasked ? shortest.masked : shortest.unmasked);
}

void fa3::buildZeroRows(OpBuilder &builder, Location loc, Value sums,
                        ArrayRef<Value> place, int64_t rows) {
  KernelMath math(loc, builder);
  int64_t columns = cast<MemRefType>(sums.getType()).getShape().back();
  int64_t width = std::min(columns, kWidth);
  Value zero = math.splat(math.tensor({rows, width}, builder.getF32Type()), 0);
  // Columns beyond the last are not written.
  for (int64_t column = 0; column < columns; column += width) {
    SmallVector<Value> at(place);
    at.push_back(math.index(column));
    tile::StoreOp::create(math.b, zero, sums, at);
  }
}

void fa3::buildConvertedRows(OpBuilder &builder, attention::BackwardOp op,
                             const BackwardOperands &operands) {
  OpBuilder::InsertionGuard guard(builder);
  KernelMath math(op.getLoc(), builder);
  ImplicitLocOpBuilder &b = math.b;
  constexpr attention::Sequence kQuery = attention::Sequence::query;
  SequenceCode sequences(
      b, op,
      {operands.q, operands.k, operands.aux, operands.maxQ, operands.batch},
      operands.captures);
  int64_t rank = op.getPlaceRank(kQuery);
  Value heads = memref::DimOp::create(b, operands.dq, rank - 2);
  auto [first, head] = sequences.openGrid(kQuery, kConvertedRows, heads);
  SmallVector<Value> place = sequences.getPlace(kQuery, head, first);
  Value end = sequences.getStoreEnd(kQuery, head);
  auto target = cast<MemRefType>(operands.dq.getType());
  int64_t columns = target.getShape().back(), width = std::min(columns, kWidth);
  RankedTensorType wide = math.tensor({kConvertedRows, width}, b.getF32Type());
  for (int64_t column = 0; column < columns; column += width) {
    SmallVector<Value> at(place);
    at.push_back(math.index(column));
    Value sum = tile::LoadOp::create(b, wide, operands.dqSums, at);
    sum = math.mul(sum, math.scalarTile(operands.scale, wide));
    Value result = arith::TruncFOp::create(
        b, math.tensor(wide.getShape(), target.getElementType()), sum);
    tile::StoreOp::create(b, result, operands.dq, at, end);
  }
}
