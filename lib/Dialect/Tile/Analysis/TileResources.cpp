//===- TileResources.cpp - units that tile operations occupy --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Tile/Analysis/TileResources.h"
#include "fa3/Dialect/Warp/IR/Warp.h"
#include "fa3/Machine/Chip.h"
#include "fa3/Scheduling/ElementCosts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// Elements that a thread holds of a tile.
static int64_t countElements(Type type, int64_t threads, const Chip &chip) {
  RankedTensorType tile = getTileType(type);
  if (!tile)
    return 0;
  int64_t copies = tile.getRank() == 1 ? chip.lanesPerRow : 1;
  return llvm::divideCeil(tile.getNumElements() * copies, threads);
}

static ResourceUse getProductUse(DotAsyncOp dot) {
  const Chip &chip = getChip(dot);
  RankedTensorType result = getTileType(dot.getResult().getType());
  int64_t rows = result.getDimSize(0), columns = result.getDimSize(1);
  RankedTensorType shape = getTileType(dot.getLhs().getType());
  int64_t bits = shape.getElementTypeBitWidth();
  int64_t depth = shape.getNumElements() / rows;
  ResourceUse use;
  use.tensor =
      llvm::divideCeil(rows * columns * depth * bits, chip.tensorMacs16 * 16);
  use.issue = llvm::divideCeil(rows, chip.productRows) *
              llvm::divideCeil(depth * bits, chip.productBytes * 8) *
              chip.tensorIssue;
  use.latency = use.tensor + chip.tensorLatency;
  return use;
}

static ResourceUse getElementwiseUse(Operation *op, int64_t threads) {
  ResourceUse use;
  if (op->getNumResults() != 1 || !getTileType(op->getResult(0).getType()))
    return use;
  ElementCost cost = getElementCost(
      op, countElements(op->getResult(0).getType(), threads, getChip(op)));
  use.issue = cost.instructions;
  if (cost.unit == ElementCost::Unit::Special)
    use.special = cost.cycles;
  use.latency = cost.cycles;
  return use;
}

static ResourceUse getReduceUse(ReduceOp reduce, int64_t threads) {
  const Chip &chip = getChip(reduce);
  ResourceUse use;
  bool isSum = reduce.getKind() == ReduceKind::add;
  use.issue = countElements(reduce.getSource().getType(), threads, chip);
  use.latency = use.issue * (isSum ? chip.fmaCycles : chip.aluCycles);
  if (!reduce.getModulo())
    use.latency += llvm::Log2_64(chip.lanesPerRow) * chip.shuffleLatency;
  return use;
}

bool tile::isBoundByReads(DotAsyncOp dot) {
  constexpr double kShare = 0.8;
  if (!isa<ViewType>(dot.getLhs().getType()) ||
      !isa<ViewType>(dot.getRhs().getType()))
    return false;
  const Chip &chip = getChip(dot);
  int64_t n = dot.getResult().getType().getTile().getDimSize(1);
  return double((chip.productRows + n) * chip.productBytes) /
             chip.sharedBytes >=
         kShare * double(n) / 2;
}

ResourceUse tile::getResourceUse(Operation *op, int64_t threads) {
  if (auto dot = dyn_cast<DotAsyncOp>(op))
    return getProductUse(dot);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return getReduceUse(reduce, threads);
  const Chip &chip = getChip(op);
  ResourceUse use;
  if (auto read = dyn_cast<ReadOp>(op)) {
    use.issue = countElements(read.getResult().getType(), threads, chip);
    use.latency = use.issue + chip.shuffleLatency;
  } else if (isa<warp::AcquireOp>(op)) {
    use.issue = use.latency = chip.barrierLatency;
  } else if (isElementwise(op)) {
    return getElementwiseUse(op, threads);
  }
  return use;
}
