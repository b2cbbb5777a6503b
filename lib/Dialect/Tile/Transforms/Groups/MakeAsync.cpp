//===- MakeAsync.cpp - tile-make-async ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Utils.h"
#include "StageStores.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace fa3::tile {
#define GEN_PASS_DEF_MAKEASYNC
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The position of a loop-carried value that exists only to accumulate this
/// product from iteration to iteration.
static std::optional<unsigned> matchAccumulator(DotOp dot) {
  auto argument = dyn_cast<BlockArgument>(dot.getAcc());
  if (!argument || argument.getOwner() != dot->getBlock() ||
      !argument.hasOneUse() || !dot.getResult().hasOneUse())
    return std::nullopt;
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  if (!loop || argument.getArgNumber() == 0)
    return std::nullopt;
  unsigned index = argument.getArgNumber() - 1;
  OpOperand &use = *dot.getResult().getUses().begin();
  if (use.getOwner() != loop.getBody()->getTerminator() ||
      use.getOperandNumber() != index)
    return std::nullopt;
  return index;
}

/// Whether another product of the block adds to this one and nothing else looks
/// at it: the tensor core goes from one to the other by itself.
static bool isAddedTo(DotOp dot) {
  if (!dot.getResult().hasOneUse())
    return false;
  OpOperand &use = *dot.getResult().getUses().begin();
  auto next = dyn_cast<DotOp>(use.getOwner());
  return next && next->getBlock() == dot->getBlock() &&
         use == next.getAccMutable();
}

/// Makes the value that a loop carries at `index` a pending one.
static void makeCarriedPending(scf::ForOp loop, unsigned index) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  Value init = loop.getInitArgs()[index];
  auto type = PendingType::get(cast<RankedTensorType>(init.getType()));
  loop.getInitArgsMutable()[index].assign(PendOp::create(b, type, init));
  loop.getRegionIterArg(index).setType(type);
  OpResult result = loop->getResult(index);
  result.setType(type);
  b.setInsertionPointAfter(loop);
  auto awaited = AwaitOp::create(b, result, ValueRange());
  result.replaceAllUsesExcept(awaited.getResult(), awaited);
}

/// Whether only loops and branches lie around a token up to `target`.
static bool canCarryTokenOut(Value token, Block *target) {
  for (Block *block = token.getParentBlock(); block != target;
       block = block->getParentOp()->getBlock())
    if (!isa<scf::ForOp, scf::IfOp>(block->getParentOp()))
      return false;
  return true;
}

/// Carries a token out of loops and branches until `target`.
static Value carryTokenOut(Value token, Block *target) {
  while (token.getParentBlock() != target) {
    Operation *parent = token.getParentBlock()->getParentOp();
    ImplicitLocOpBuilder b(parent->getLoc(), parent);
    SmallVector<Value> start = {warp::ReadyOp::create(b)};
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      loop = appendIterArgs(loop, start);
      Operation *yield = loop.getBody()->getTerminator();
      yield->setOperand(yield->getNumOperands() - 1, token);
      token = loop.getResults().back();
    } else {
      auto branch = appendResults(cast<scf::IfOp>(parent), start);
      Operation *yield = token.getParentBlock()->getTerminator();
      yield->setOperand(yield->getNumOperands() - 1, token);
      token = branch.getResults().back();
    }
  }
  return token;
}

/// Lets the release of the slot behind a view wait for the token.
static LogicalResult coverSlot(ViewOp viewOp, Value token) {
  for (Operation *user : viewOp.getSlot().getUsers()) {
    auto release = dyn_cast<warp::ReleaseOp>(user);
    if (!release || !canCarryTokenOut(token, release->getBlock()))
      continue;
    Value visible = carryTokenOut(token, release->getBlock());
    release.getAfterMutable().append(visible);
    return success();
  }
  return viewOp.emitOpError("is read by a product, but its slot is released "
                            "where the product's completion cannot be carried");
}

/// Lets the releases of the slots behind the views of a product wait for its
/// token. Both operands may be windows of one slot.
static LogicalResult coverViews(DotAsyncOp product) {
  Value token = product.getDone();
  llvm::SmallPtrSet<Value, 2> covered;
  for (Value view : product.getReadViews()) {
    auto viewOp = view.getDefiningOp<ViewOp>();
    if (!viewOp)
      return product.emitOpError("expects a view that 'tile.view' makes in its "
                                 "group");
    if (covered.insert(viewOp.getSlot()).second &&
        failed(coverSlot(viewOp, token)))
      return failure();
  }
  return success();
}

static LogicalResult makeProductAsync(DotOp dot) {
  SplatElementsAttr constant;
  if (!isa<ViewType>(dot.getRhs().getType()) &&
      !matchPattern(dot.getRhs(), m_Constant(&constant)))
    return dot.emitOpError("expects the right operand of a product in shared "
                           "memory (a view), or one value throughout; load it "
                           "by the load role");
  std::optional<unsigned> accumulator = matchAccumulator(dot);
  if (accumulator)
    makeCarriedPending(cast<scf::ForOp>(dot->getParentOp()), *accumulator);
  ImplicitLocOpBuilder b(dot.getLoc(), dot);
  auto pending = PendingType::get(dot.getResult().getType());
  auto async = DotAsyncOp::create(
      b, pending, warp::DoneType::get(b.getContext()), dot.getLhs(),
      dot.getRhs(), dot.getAcc(), dot.getLhsOrder(), dot.getRhsOrder());
  if (accumulator) {
    // The use is the loop's yield; the types on both sides are pending.
    Operation *yield = dot->getBlock()->getTerminator();
    yield->setOperand(*accumulator, async.getResult());
  } else if (isAddedTo(dot)) {
    // The next product, which is made asynchronous after this one, takes what
    // is pending.
    dot.getResult().replaceAllUsesWith(async.getResult());
  } else {
    Operation *firstUse = dot->getBlock()->getTerminator();
    for (Operation *user : dot.getResult().getUsers()) {
      Operation *use = dot->getBlock()->findAncestorOpInBlock(*user);
      if (use->isBeforeInBlock(firstUse))
        firstUse = use;
    }
    b.setInsertionPoint(firstUse);
    auto awaited = AwaitOp::create(b, async.getResult(), ValueRange());
    dot.getResult().replaceAllUsesWith(awaited.getResult());
  }
  dot.erase();
  return coverViews(async);
}

namespace {
struct MakeAsync : fa3::tile::impl::MakeAsyncBase<MakeAsync> {
  using MakeAsyncBase::MakeAsyncBase;

  void runOnOperation() override {
    if (smemBudget < 0) {
      getOperation()->emitError("tile-make-async: expects smem-budget of at "
                                "least 0, got ")
          << smemBudget.getValue();
      return signalPassFailure();
    }
    if (failed(forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
          return transform(kernel);
        })))
      signalPassFailure();
  }

  LogicalResult transform(gpu::GPUFuncOp kernel) {
    SmallVector<DotOp> dots;
    kernel.walk([&](DotOp dot) {
      if (dot->getParentOfType<warp::GroupOp>())
        dots.push_back(dot);
    });
    for (DotOp dot : dots)
      if (failed(makeProductAsync(dot)))
        return failure();
    products += dots.size();
    FailureOr<int64_t> staged = stageStores(kernel, store, smemBudget);
    if (failed(staged))
      return failure();
    stores += *staged;
    return success();
  }
};
} // namespace
