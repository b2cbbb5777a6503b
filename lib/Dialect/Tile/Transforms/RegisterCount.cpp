//===- RegisterCount.cpp - what consumers keep in registers ---------------===//

#include "RegisterCount.h"
#include "Utils.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// Registers that a tile of 64 rows takes on each of 128 threads.
static int64_t countTileRegisters(RankedTensorType type) {
  return type.getDimSize(1) * type.getElementTypeBitWidth() / 64;
}

int64_t fa3::tile::countColumnRegisters(int64_t columns) {
  // Four lanes share a row.
  return columns / 4;
}

namespace {
/// Registers that code beside that of a plain softmax takes, with extents that
/// are known and with others, which are kept as well. By what ptxas began to
/// spill in test/Matrix.
struct Allowance {
  int64_t known, unknown;
  int64_t get(bool isKnown) const { return isKnown ? known : unknown; }
};
/// Functions, coordinates as numbers, tiles that are read, and such tiles where
/// rows end before the tile does.
constexpr Allowance kFunctions = {3, 3}, kNumbers = {3, 8}, kReads = {20, 28},
                    kEndedReads = {36, 36};
} // namespace

/// Whether the operation lies in a loop below `root`.
static bool isInLoop(Operation *op, Operation *root) {
  auto loop = op->getParentOfType<scf::ForOp>();
  return loop && root->isProperAncestor(loop);
}

RegisterCount fa3::tile::countRegisters(Operation *root, bool isKnown,
                                        LoadPolicy loads, bool hasEnds) {
  constexpr int64_t kScalars = 25;
  constexpr int64_t kShortProduct = 128, kColumnsPerDescriptor = 8;
  RegisterCount count;
  count.registers = kScalars;
  // What one step in front of a loop takes is free again in the loop.
  int64_t inLoops = 0, before = 0;
  bool hasFunctions = false, hasNumbers = false;
  root->walk([&](Operation *op) {
    if (auto dot = dyn_cast<DotOp>(op)) {
      count.groups =
          std::max<int64_t>(count.groups, dot.getType().getDimSize(0) / 64);
      int64_t &products = isInLoop(dot, root) ? inLoops : before;
      products += countTileRegisters(dot.getType());
      auto lhs = dyn_cast<RankedTensorType>(dot.getLhs().getType());
      if (!lhs)
        return; // a view
      if (!dot.getLhs().getDefiningOp<LoadOp>())
        products += countTileRegisters(lhs);
      else
        products += std::max<int64_t>(0, lhs.getDimSize(1) - kShortProduct) /
                    kColumnsPerDescriptor;
    } else if (auto load = dyn_cast<LoadOp>(op)) {
      bool isOperand = llvm::any_of(load->getUsers(), llvm::IsaPred<DotOp>);
      bool inBulk = isBulkElementLoad(load, loads);
      const Allowance &reads = hasEnds ? kEndedReads : kReads;
      count.registers += inBulk ? reads.get(isKnown) : 0;
      count.loadsByThreads |=
          load.getType().getRank() == 2 && !isOperand && !inBulk;
    } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      // What is computed from numbers of columns is kept from step to step;
      // the numbers themselves are immediates.
      RankedTensorType type = broadcast.getType();
      Operation *source = broadcast.getSource().getDefiningOp();
      if (broadcast.getDim() == 0 && type.getElementType().isF32() && source &&
          isElementwise(source) && !isa<arith::SIToFPOp>(source))
        count.registers += countColumnRegisters(type.getDimSize(1));
    } else if (isElementwise(op)) {
      hasFunctions |= isa<math::TanhOp, math::ExpOp>(op);
      hasNumbers |= isa<arith::SIToFPOp, arith::UIToFPOp>(op) &&
                    !op->getOperand(0).getDefiningOp<DotOp>();
    }
  });
  count.registers += std::max(inLoops, before);
  count.registers += hasFunctions ? kFunctions.get(isKnown) : 0;
  count.registers += hasNumbers ? kNumbers.get(isKnown) : 0;
  return count;
}
