//===- RegisterCount.cpp - what consumers keep in registers ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Tile/Analysis/RegisterCount.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Machine/RegisterModel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// Registers that the rows of one product instruction take of a tile on each
/// thread of a warp group.
static int64_t countTileRegisters(RankedTensorType type, const Chip &chip) {
  constexpr int64_t kRegisterBits = 32;
  return chip.productRows * type.getDimSize(1) * type.getElementTypeBitWidth() /
         (chip.getThreadsPerWarpgroup() * kRegisterBits);
}

int64_t fa3::tile::countColumnRegisters(int64_t columns, const Chip &chip) {
  return columns / chip.lanesPerRow;
}

/// Whether the operation lies in a loop below `root`.
static bool isInLoop(Operation *op, Operation *root) {
  auto loop = op->getParentOfType<scf::ForOp>();
  return loop && root->isProperAncestor(loop);
}

RegisterCount fa3::tile::countRegisters(Operation *root, bool isKnown,
                                        LoadPolicy loads, bool hasEnds) {
  const Chip &chip = getChip(root);
  const RegisterModel &model = getRegisterModel(chip);
  int64_t ofReads = hasEnds   ? model.endedReads
                    : isKnown ? model.reads
                              : model.readsOfUnknown;
  RegisterCount count;
  count.registers = model.others;
  // What one step in front of a loop takes is free again in the loop.
  int64_t inLoops = 0, before = 0;
  bool hasFunctions = false, hasNumbers = false;
  int64_t productsInLoops = 0;
  root->walk([&](Operation *op) {
    if (auto dot = dyn_cast<DotOp>(op)) {
      count.groups = std::max<int64_t>(
          count.groups, dot.getType().getDimSize(0) / chip.productRows);
      bool inLoop = isInLoop(dot, root);
      int64_t &products = inLoop ? inLoops : before;
      products += countTileRegisters(dot.getType(), chip);
      // A further product of what another one reads in another order has
      // addresses of its own, and those of others stay alive meanwhile.
      constexpr int64_t kFew = 2, kAddresses = 3;
      productsInLoops += inLoop;
      auto rhs = dot.getRhs().getDefiningOp<LoadOp>();
      if (inLoop && productsInLoops > kFew && rhs && !rhs->hasOneUse())
        products += kAddresses *
                    std::max<int64_t>(0, dot.getType().getDimSize(1) -
                                             model.shortProduct) /
                    model.columnsPerDescriptor;
      auto lhs = dyn_cast<RankedTensorType>(dot.getLhs().getType());
      if (!lhs)
        return; // a view
      if (!dot.getLhs().getDefiningOp<LoadOp>())
        products += countTileRegisters(lhs, chip);
      else
        products +=
            std::max<int64_t>(0, lhs.getDimSize(1) - model.shortProduct) /
            model.columnsPerDescriptor;
    } else if (auto load = dyn_cast<LoadOp>(op)) {
      bool isOperand = llvm::any_of(load->getUsers(), llvm::IsaPred<DotOp>);
      bool inBulk = isBulkElementLoad(load, loads);
      // Numbers of columns are read one by one, as they are used.
      bool isOfColumns = load.getType().getRank() == 1;
      if (inBulk)
        count.registers += isOfColumns ? model.readAddresses : ofReads;
      count.loadsByThreads |=
          load.getType().getRank() == 2 && !isOperand && !inBulk;
    } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      // What is computed from numbers of columns is kept from step to step;
      // the numbers themselves are immediates.
      RankedTensorType type = broadcast.getType();
      Operation *source = broadcast.getSource().getDefiningOp();
      if (broadcast.getDim() == 0 && type.getElementType().isF32() && source &&
          isElementwise(source) && !isa<arith::SIToFPOp>(source))
        count.registers += countColumnRegisters(type.getDimSize(1), chip);
    } else if (isElementwise(op)) {
      hasFunctions |= isa<math::TanhOp, math::ExpOp>(op);
      hasNumbers |= isa<arith::SIToFPOp, arith::UIToFPOp>(op) &&
                    !op->getOperand(0).getDefiningOp<DotOp>();
    }
  });
  count.registers += std::max(inLoops, before);
  if (hasFunctions)
    count.registers += isKnown ? model.functions : model.functionsOfUnknown;
  if (hasNumbers)
    count.registers += isKnown ? model.numbers : model.numbersOfUnknown;
  return count;
}
