//===- Linearity.cpp - linear values are consumed once on every path ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Cursors, slots and pending results must not be duplicated or lost. The check
// is structural: it follows a value into the arms of branches.
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Warp/IR/Warp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa3::warp;

namespace {
/// How often the paths through a block consume a value.
struct Consumption {
  unsigned least = 0, most = 0;
  Operation *last = nullptr;
};
} // namespace

static FailureOr<Consumption> countInBlock(Value value, Block *block);

/// Consumption of `value` by `op`, which is an operation of the block under
/// inspection: `op` itself, or something inside its regions.
static FailureOr<Consumption> countInOp(Value value, Operation *op) {
  Consumption count;
  unsigned direct = llvm::count(op->getOperands(), value);
  if (direct && !op->hasTrait<BorrowsLinear>()) {
    if (isa<arith::SelectOp>(op)) {
      op->emitOpError("must not choose between linear values of type ")
          << value.getType();
      return failure();
    }
    count.least = count.most = direct;
    count.last = op;
  }
  if (op->getNumRegions() == 0)
    return count;

  bool used = false;
  SmallVector<Consumption> arms;
  for (Region &region : op->getRegions()) {
    Consumption arm;
    for (Block &block : region) {
      FailureOr<Consumption> inner = countInBlock(value, &block);
      if (failed(inner))
        return failure();
      arm.least += inner->least;
      arm.most += inner->most;
      if (inner->last)
        arm.last = inner->last;
    }
    used |= arm.most > 0;
    arms.push_back(arm);
  }
  if (!used)
    return count;
  if (isa<LoopLikeOpInterface>(op)) {
    op->emitOpError("captures a linear value of type ")
        << value.getType() << "; pass it as a loop-carried value";
    return failure();
  }
  unsigned least = ~0u, most = 0;
  for (Consumption &arm : arms) {
    least = std::min(least, arm.least);
    most = std::max(most, arm.most);
    if (arm.last)
      count.last = arm.last;
  }
  count.least += least;
  count.most += most;
  return count;
}

static FailureOr<Consumption> countInBlock(Value value, Block *block) {
  llvm::SmallSetVector<Operation *, 4> users;
  for (Operation *user : value.getUsers())
    if (Operation *op = block->findAncestorOpInBlock(*user))
      users.insert(op);
  SmallVector<Operation *> inOrder = users.takeVector();
  llvm::sort(inOrder,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  Consumption total;
  for (Operation *op : inOrder) {
    FailureOr<Consumption> inner = countInOp(value, op);
    if (failed(inner))
      return failure();
    total.least += inner->least;
    total.most += inner->most;
    if (inner->last)
      total.last = inner->last;
  }
  return total;
}

static LogicalResult verifyValue(Value value) {
  auto linear = dyn_cast<LinearTypeInterface>(value.getType());
  if (!linear)
    return success();
  FailureOr<Consumption> count = countInBlock(value, value.getParentBlock());
  if (failed(count))
    return failure();
  if (count->most > 1) {
    InFlightDiagnostic diagnostic =
        emitError(value.getLoc()) << "linear value of type " << value.getType()
                                  << " is consumed more than once";
    diagnostic.attachNote(count->last->getLoc()) << "also consumed here";
    return diagnostic;
  }
  if (count->least == 0 && !linear.mayDrop())
    return emitError(value.getLoc())
           << "linear value of type " << value.getType()
           << " is not consumed on every path";
  return success();
}

LogicalResult fa3::warp::verifyLinearity(Region &region) {
  WalkResult result = region.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value value : op->getResults())
      if (failed(verifyValue(value)))
        return WalkResult::interrupt();
    for (Region &inner : op->getRegions())
      for (Block &block : inner)
        for (Value argument : block.getArguments())
          if (failed(verifyValue(argument)))
            return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
