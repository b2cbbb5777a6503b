//===- HeldOperands.cpp - registers that products of a loop only read -----===//
// SPDX-License-Identifier: Apache-2.0
//
// A product may read a left operand from registers that no step of its loop
// changes. Where it is awaited before another product that has its left operand
// in registers is issued, ptxas (13.0) may give the registers to that one,
// although the next step reads them: it does not count what products read in
// later steps (docs/experiments/overwritten-registers.md). It does count
// ordinary instructions. So such registers are written anew in each step, with
// the bits that they have: x ^ 0, of a zero that ptxas does not know.
//===----------------------------------------------------------------------===//

#include "../Patterns.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

/// The operation that waits for a product, or for others that add to its sum,
/// in the block of the product; null if there is none.
static WgmmaWaitOp findWait(WgmmaOp product) {
  for (Operation *user : product.getResult().getUsers()) {
    if (user->getBlock() != product->getBlock())
      continue;
    if (auto wait = dyn_cast<WgmmaWaitOp>(user))
      return wait;
    if (auto next = dyn_cast<WgmmaOp>(user);
        next && next.getAcc() == product.getResult())
      return findWait(next);
  }
  return {};
}

/// What waits for a product whose registers ptxas may give away; null if it
/// does not.
static WgmmaWaitOp findRisk(WgmmaOp product) {
  auto loop = dyn_cast<scf::ForOp>(product->getParentOp());
  if (!loop || !isa<VectorType>(product.getLhs().getType()) ||
      !loop.isDefinedOutsideOfLoop(product.getLhs()))
    return {};
  WgmmaWaitOp wait = findWait(product);
  bool hasOthers = false;
  for (auto other : loop.getBody()->getOps<WgmmaOp>()) {
    if (!isa<VectorType>(other.getLhs().getType()) ||
        other.getLhs() == product.getLhs())
      continue;
    hasOthers = true;
    if (!wait ||
        (product->isBeforeInBlock(other) && other->isBeforeInBlock(wait)))
      return {};
  }
  return hasOthers ? wait : WgmmaWaitOp();
}

namespace {
/// A variable of the kernel, which LLVM makes registers of.
class Variable {
public:
  Variable(OpBuilder &builder, Location loc, VectorType type) : type(type) {
    constexpr int64_t kWordBits = 32;
    int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
    words = VectorType::get(bits / kWordBits, builder.getI32Type());
    Value one =
        arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(1));
    address = LLVM::AllocaOp::create(
        builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), words,
        one);
  }
  void set(OpBuilder &builder, Location loc, Value value) const {
    Value bits = vector::BitCastOp::create(builder, loc, words, value);
    LLVM::StoreOp::create(builder, loc, bits, address);
  }
  Value get(OpBuilder &builder, Location loc) const {
    Value bits = LLVM::LoadOp::create(builder, loc, words, address);
    return vector::BitCastOp::create(builder, loc, type, bits);
  }
  /// Writes what it has, as something that depends on `zero`.
  void renew(OpBuilder &builder, Location loc, Value zero) const {
    Value bits = LLVM::LoadOp::create(builder, loc, words, address);
    Value zeros = vector::BroadcastOp::create(builder, loc, words, zero);
    Value renewed = arith::XOrIOp::create(builder, loc, bits, zeros);
    LLVM::StoreOp::create(builder, loc, renewed, address);
  }

private:
  VectorType type, words;
  Value address;
};
} // namespace

void fa3::renewHeldOperands(gpu::GPUFuncOp kernel, Value zero) {
  llvm::SmallSetVector<Value, 2> held;
  llvm::SmallVector<std::pair<WgmmaWaitOp, Value>> waits;
  kernel.walk([&](WgmmaOp product) {
    WgmmaWaitOp wait = findRisk(product);
    if (!wait)
      return;
    held.insert(product.getLhs());
    if (!llvm::is_contained(waits, std::pair(wait, product.getLhs())))
      waits.push_back({wait, product.getLhs()});
  });
  OpBuilder builder(kernel);
  for (Value value : held) {
    Location loc = value.getLoc();
    builder.setInsertionPointToStart(&kernel.getBody().front());
    Variable variable(builder, loc, cast<VectorType>(value.getType()));
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
      builder.setInsertionPoint(use.getOwner());
      use.set(variable.get(builder, use.getOwner()->getLoc()));
    }
    builder.setInsertionPointAfterValue(value);
    variable.set(builder, loc, value);
    for (auto [wait, waitedFor] : waits) {
      if (waitedFor != value)
        continue;
      builder.setInsertionPointAfter(wait);
      variable.renew(builder, wait.getLoc(), zero);
    }
  }
}
