//===- PackCarried.cpp - 8-bit fragments between iterations ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// LLVM's code generator for NVPTX keeps 8-bit vectors that live across basic
// blocks as one register per element. Loops and branches carry them as words.
//===----------------------------------------------------------------------===//

#include "../Patterns.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa3;

/// The same bits in words of 32; null for fragments that stay as they are.
static VectorType getPackedType(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector || vector.getRank() != 1 ||
      !vector.getElementType().isIntOrFloat() ||
      vector.getElementTypeBitWidth() != 8 || vector.getNumElements() % 4)
    return {};
  return VectorType::get(vector.getNumElements() / 4,
                         IntegerType::get(type.getContext(), 32));
}

/// Changes the type of a value at its definition: users see the old one again.
static void packValue(OpBuilder &builder, Value value, VectorType packed) {
  Type old = value.getType();
  value.setType(packed);
  auto unpacked =
      vector::BitCastOp::create(builder, value.getLoc(), old, value);
  value.replaceAllUsesExcept(unpacked, unpacked);
}

/// Packs what an operation in control flow gives away.
static void packOperand(OpOperand &operand, VectorType packed) {
  OpBuilder builder(operand.getOwner());
  operand.set(vector::BitCastOp::create(builder, operand.getOwner()->getLoc(),
                                        packed, operand.get()));
}

static void packLoop(scf::ForOp loop) {
  for (unsigned i = 0; i < loop.getNumResults(); ++i) {
    VectorType packed = getPackedType(loop.getResult(i).getType());
    if (!packed)
      continue;
    packOperand(loop.getInitArgsMutable()[i], packed);
    packOperand(loop.getBody()->getTerminator()->getOpOperand(i), packed);
    OpBuilder inside = OpBuilder::atBlockBegin(loop.getBody());
    packValue(inside, loop.getRegionIterArg(i), packed);
    OpBuilder behind(loop->getContext());
    behind.setInsertionPointAfter(loop);
    packValue(behind, loop.getResult(i), packed);
  }
}

static void packBranch(scf::IfOp branch) {
  for (unsigned i = 0; i < branch.getNumResults(); ++i) {
    VectorType packed = getPackedType(branch.getResult(i).getType());
    if (!packed)
      continue;
    packOperand(branch.thenYield()->getOpOperand(i), packed);
    packOperand(branch.elseYield()->getOpOperand(i), packed);
    OpBuilder behind(branch->getContext());
    behind.setInsertionPointAfter(branch);
    packValue(behind, branch.getResult(i), packed);
  }
}

void fa3::packCarriedFragments(gpu::GPUFuncOp kernel) {
  kernel.walk([](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      packLoop(loop);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      packBranch(branch);
  });
}
