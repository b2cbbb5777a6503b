//===- Resources.cpp - units that tile operations occupy ------------------===//

#include "fa3/Dialect/Tile/Analysis/Resources.h"
#include "fa3/Dialect/Warp/IR/Warp.h"
#include "fa3/Scheduling/DeviceModel.h"
#include "fa3/Scheduling/ElementCosts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;
namespace device = fa3::device;

/// Rows and bytes of K of one product instruction.
static constexpr int64_t kInstructionRows = 64, kInstructionBytes = 32;

/// Elements that a thread holds of a tile.
static int64_t countElements(Type type, int64_t threads) {
  RankedTensorType tile = getTileType(type);
  if (!tile)
    return 0;
  int64_t copies = tile.getRank() == 1 ? device::kLanesPerRow : 1;
  return llvm::divideCeil(tile.getNumElements() * copies, threads);
}

static ResourceUse getProductUse(DotAsyncOp dot) {
  RankedTensorType result = getTileType(dot.getResult().getType());
  int64_t rows = result.getDimSize(0), columns = result.getDimSize(1);
  RankedTensorType shape = getTileType(dot.getLhs().getType());
  int64_t bits = shape.getElementTypeBitWidth();
  int64_t depth = shape.getNumElements() / rows;
  ResourceUse use;
  use.tensor = llvm::divideCeil(rows * columns * depth * bits,
                                device::kTensorMacs16 * 16);
  use.issue = llvm::divideCeil(rows, kInstructionRows) *
              llvm::divideCeil(depth * bits, kInstructionBytes * 8) *
              device::kTensorIssue;
  use.latency = use.tensor + device::kTensorLatency;
  return use;
}

static ResourceUse getElementwiseUse(Operation *op, int64_t threads) {
  ResourceUse use;
  if (op->getNumResults() != 1 || !getTileType(op->getResult(0).getType()))
    return use;
  ElementCost cost =
      getElementCost(op, countElements(op->getResult(0).getType(), threads));
  use.issue = cost.instructions;
  if (cost.unit == ElementCost::Unit::Special)
    use.special = cost.cycles;
  use.latency = cost.cycles;
  return use;
}

static ResourceUse getReduceUse(ReduceOp reduce, int64_t threads) {
  ResourceUse use;
  bool isSum = reduce.getKind() == ReduceKind::add;
  use.issue = countElements(reduce.getSource().getType(), threads);
  use.latency = use.issue * (isSum ? device::kFmaCycles : device::kAluCycles);
  if (!reduce.getModulo())
    use.latency +=
        llvm::Log2_64(device::kLanesPerRow) * device::kShuffleLatency;
  return use;
}

ResourceUse tile::getResourceUse(Operation *op, int64_t threads) {
  if (auto dot = dyn_cast<DotAsyncOp>(op))
    return getProductUse(dot);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return getReduceUse(reduce, threads);
  ResourceUse use;
  if (auto read = dyn_cast<ReadOp>(op)) {
    use.issue = countElements(read.getResult().getType(), threads);
    use.latency = use.issue + device::kShuffleLatency;
  } else if (isa<warp::AcquireOp>(op)) {
    use.issue = use.latency = device::kBarrierLatency;
  } else if (isElementwise(op)) {
    return getElementwiseUse(op, threads);
  }
  return use;
}
