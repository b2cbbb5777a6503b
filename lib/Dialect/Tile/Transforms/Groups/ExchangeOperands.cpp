//===- ExchangeOperands.cpp - tile-exchange-operands ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The tensor core takes a left operand out of registers only with its rows as
// they are, and a right one never: what a kernel computes for such a place goes
// through shared memory. Who computes it is also who multiplies, so the ring
// has the same role at both ends; where that role is several replicas, each
// writes its part and reads those of all.
//
//===----------------------------------------------------------------------===//

#include "../Utils.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace fa3::tile {
#define GEN_PASS_DEF_EXCHANGEOPERANDS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

/// Whether the tensor core takes this operand of a product from shared memory
/// only, and it is a tile that somebody computes.
static bool needsMemory(DotOp dot, OpOperand &operand) {
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  if (!type || type.getRank() != 2 || matchPattern(operand.get(), m_Constant()))
    return false;
  return &operand == &dot.getRhsMutable() ||
         (&operand == &dot.getLhsMutable() &&
          dot.getLhsOrder() == LhsOrder::km);
}

/// Lets a tile go through a ring to operands, all in blocks inside of the
/// tile's own.
static LogicalResult exchange(gpu::GPUFuncOp kernel,
                              ArrayRef<OpOperand *> operands) {
  Value tile = operands.front()->get();
  auto type = cast<RankedTensorType>(tile.getType());
  Operation *origin = tile.getDefiningOp();
  Operation *site =
      origin ? origin : &cast<BlockArgument>(tile).getOwner()->front();
  ImplicitLocOpBuilder b(tile.getLoc(), kernel.getContext());
  b.setInsertionPointToStart(&kernel.getBody().front());
  Value ring =
      warp::RingOp::create(b, warp::RingType::get(b.getContext(), 1, {type}, 1,
                                                  0, warp::Scope::cta));
  SmallVector<Value> cursors = {
      warp::CursorOp::create(b, warp::Side::write, ring),
      warp::CursorOp::create(b, warp::Side::read, ring)};
  if (failed(threadTo(site, cursors)))
    return failure();
  // Loops that carry it have been replaced.
  tile = operands.front()->get();

  if (origin)
    b.setInsertionPointAfter(origin);
  else
    b.setInsertionPoint(site);
  Value zeros[] = {arith::ConstantIndexOp::create(b, 0),
                   arith::ConstantIndexOp::create(b, 0)};
  auto window = [&](Value slot) -> Value {
    return ViewOp::create(b, ViewType::get(type), slot, zeros);
  };
  auto filled = warp::AcquireOp::create(b, ring, cursors[0]);
  WriteOp::create(b, tile, window(filled.getSlot()));
  warp::PublishOp::create(b, filled.getSlot());

  Block *block = filled->getBlock();
  Operation *first = nullptr, *last = nullptr;
  for (OpOperand *operand : operands) {
    Operation *use = block->findAncestorOpInBlock(*operand->getOwner());
    if (!first || use->isBeforeInBlock(first))
      first = use;
    if (!last || last->isBeforeInBlock(use))
      last = use;
  }
  b.setInsertionPoint(first);
  auto held = warp::AcquireOp::create(b, ring, cursors[1]);
  Value view = window(held.getSlot());
  for (OpOperand *operand : operands)
    operand->set(view);
  b.setInsertionPointAfter(last);
  warp::ReleaseOp::create(b, held.getSlot(), ValueRange());
  threadFrom(filled, {filled.getNext(), held.getNext()});
  return success();
}

namespace {
struct ExchangeOperands
    : fa3::tile::impl::ExchangeOperandsBase<ExchangeOperands> {
  using ExchangeOperandsBase::ExchangeOperandsBase;
  void runOnOperation() override {
    LogicalResult result =
        forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
          llvm::MapVector<Value, SmallVector<OpOperand *>> operandsOf;
          kernel.walk([&](DotOp dot) {
            for (OpOperand &operand : dot->getOpOperands())
              if (needsMemory(dot, operand))
                operandsOf[operand.get()].push_back(&operand);
          });
          for (auto &entry : operandsOf)
            if (failed(exchange(kernel, entry.second)))
              return failure();
          rings += operandsOf.size();
          return success();
        });
    if (failed(result))
      signalPassFailure();
  }
};
} // namespace
