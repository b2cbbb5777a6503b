//===- ExchangeOperands.cpp - tile-exchange-operands ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The tensor core takes a left operand out of registers only with its rows as
// they are, and a right one never: what a kernel computes for such a place goes
// through shared memory. Where who computes it is also who multiplies, the ring
// has the same role at both ends; where that role is several replicas, each
// writes its part and reads those of all. What one role computes and another
// one uses goes through rings as well (ExchangeBetweenRoles.cpp).
//
//===----------------------------------------------------------------------===//

#include "ExchangeOperands.h"
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

LogicalResult fa3::tile::exchange(gpu::GPUFuncOp kernel,
                                  ArrayRef<OpOperand *> operands,
                                  StringRef writer, StringRef reader) {
  Value tile = operands.front()->get();
  auto type = cast<RankedTensorType>(tile.getType());
  Operation *origin = tile.getDefiningOp();
  Operation *site =
      origin ? origin : &cast<BlockArgument>(tile).getOwner()->front();
  ImplicitLocOpBuilder b(tile.getLoc(), kernel.getContext());
  // Without an attribute the role is "math".
  auto with = [&](StringRef role, auto op) {
    if (role != "math")
      op->setAttr(TileDialect::kRoleAttrName, b.getStringAttr(role));
    return op;
  };
  b.setInsertionPointToStart(&kernel.getBody().front());
  Value ring =
      warp::RingOp::create(b, warp::RingType::get(b.getContext(), 1, {type}, 1,
                                                  0, warp::Scope::cta));
  SmallVector<Value> cursors = {
      with(writer, warp::CursorOp::create(b, warp::Side::write, ring)),
      with(reader, warp::CursorOp::create(b, warp::Side::read, ring))};
  if (failed(threadTo(site, cursors)))
    return failure();
  // Loops that carry it have been replaced.
  tile = operands.front()->get();

  if (origin)
    b.setInsertionPointAfter(origin);
  else
    b.setInsertionPoint(site);
  SmallVector<Value> zeros(type.getRank(),
                           arith::ConstantIndexOp::create(b, 0));
  auto window = [&](StringRef role, Value slot) -> Value {
    return with(role, ViewOp::create(b, ViewType::get(type), slot, zeros));
  };
  auto filled = with(writer, warp::AcquireOp::create(b, ring, cursors[0]));
  with(writer, WriteOp::create(b, tile, window(writer, filled.getSlot())));
  with(writer, warp::PublishOp::create(b, filled.getSlot()));

  Block *block = filled->getBlock();
  Operation *first = nullptr, *last = nullptr;
  for (OpOperand *operand : operands) {
    Operation *use = block->findAncestorOpInBlock(*operand->getOwner());
    if (!first || use->isBeforeInBlock(first))
      first = use;
    if (isa<DotOp>(operand->getOwner()) &&
        (!last || last->isBeforeInBlock(use)))
      last = use;
  }
  b.setInsertionPoint(first);
  auto held = with(reader, warp::AcquireOp::create(b, ring, cursors[1]));
  Value view = window(reader, held.getSlot()), numbers;
  for (OpOperand *operand : operands) {
    if (isa<DotOp>(operand->getOwner())) {
      operand->set(view);
      continue;
    }
    if (!numbers)
      numbers = with(reader, ReadOp::create(b, type, view));
    operand->set(numbers);
  }
  if (last)
    b.setInsertionPointAfter(last);
  with(reader, warp::ReleaseOp::create(b, held.getSlot(), ValueRange()));
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
          FailureOr<int64_t> between = exchangeBetweenRoles(kernel);
          if (failed(between))
            return failure();
          rings += *between;
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
