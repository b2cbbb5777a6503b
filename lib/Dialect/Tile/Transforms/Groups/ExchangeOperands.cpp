//===- ExchangeOperands.cpp - tile-exchange-operands ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The tensor core takes a left operand out of registers only with its rows as
// they are, and a right one never: what a kernel computes for such a place goes
// through shared memory. Where who computes it is also who multiplies, the ring
// has the same role at both ends; where that role is several replicas, each
// writes its part and reads those of all. What one role computes and another
// one uses goes through rings as well (ExchangeBetweenRoles.cpp), and so does
// what the store role stores.
//
//===----------------------------------------------------------------------===//

#include "ExchangeOperands.h"
#include "../Utils.h"
#include "Roles.h"
#include "fa3/Dialect/Tile/Transforms/Transforms.h"
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

/// What computes a value, or the first operation that could.
static Operation *getSite(Value value) {
  Operation *origin = value.getDefiningOp();
  return origin ? origin : &cast<BlockArgument>(value).getOwner()->front();
}

bool fa3::tile::comesBehind(Value behind, Value inside) {
  Operation *last = getSite(behind), *first = getSite(inside);
  Operation *around = last->getBlock()->findAncestorOpInBlock(*first);
  return behind.getType() == inside.getType() && around && around != first &&
         around->isBeforeInBlock(last);
}

namespace {
/// A ring from one role to another, through which tiles go.
class Exchange {
public:
  Exchange(gpu::GPUFuncOp kernel, Value tile, StringRef writer,
           StringRef reader);
  /// Lets a tile go through the ring at its site, to which the cursors have
  /// been threaded; they are those behind it then.
  warp::AcquireOp pass(ArrayRef<OpOperand *> operands);

  /// Of the writer and of the reader.
  SmallVector<Value> cursors;

private:
  /// Without an attribute the role is "math".
  template <typename Op>
  Op with(StringRef role, Op op) {
    if (role != "math")
      op->setAttr(TileDialect::kRoleAttrName, b.getStringAttr(role));
    return op;
  }
  Value window(StringRef role, Value slot) {
    SmallVector<Value> zeros(type.getRank(),
                             arith::ConstantIndexOp::create(b, 0));
    return with(role, ViewOp::create(b, ViewType::get(type), slot, zeros));
  }

  StringRef writer, reader;
  RankedTensorType type;
  ImplicitLocOpBuilder b;
  Value ring;
};
} // namespace

Exchange::Exchange(gpu::GPUFuncOp kernel, Value tile, StringRef writer,
                   StringRef reader)
    : writer(writer), reader(reader),
      type(cast<RankedTensorType>(tile.getType())),
      b(tile.getLoc(), kernel.getContext()) {
  b.setInsertionPointToStart(&kernel.getBody().front());
  ring = warp::RingOp::create(b, warp::RingType::get(b.getContext(), 1, {type},
                                                     1, 0, warp::Scope::cta));
  cursors = {with(writer, warp::CursorOp::create(b, warp::Side::write, ring)),
             with(reader, warp::CursorOp::create(b, warp::Side::read, ring))};
}

warp::AcquireOp Exchange::pass(ArrayRef<OpOperand *> operands) {
  // Loops that carry it may have been replaced.
  Value tile = operands.front()->get();
  b.setLoc(tile.getLoc());
  // What is stored is written where it would be stored.
  if (reader == kStoreGroup)
    b.setInsertionPoint(operands.front()->getOwner());
  else if (Operation *origin = tile.getDefiningOp())
    b.setInsertionPointAfter(origin);
  else
    b.setInsertionPoint(getSite(tile));
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
  cursors = {filled.getNext(), held.getNext()};
  return filled;
}

LogicalResult fa3::tile::exchangeOperand(gpu::GPUFuncOp kernel,
                                         ArrayRef<OpOperand *> operands,
                                         StringRef writer, StringRef reader,
                                         ArrayRef<OpOperand *> behind) {
  Value tile = operands.front()->get();
  Exchange through(kernel, tile, writer, reader);
  Operation *site =
      reader == kStoreGroup ? operands.front()->getOwner() : getSite(tile);
  if (failed(threadTo(site, through.cursors)))
    return failure();
  warp::AcquireOp filled = through.pass(operands);
  if (!behind.empty()) {
    // What a loop hands over last leaves its cursors to what follows it.
    Block *around = getSite(behind.front()->get())->getBlock();
    through.cursors = threadFrom(filled, through.cursors, around);
    filled = through.pass(behind);
  }
  threadFrom(filled, through.cursors);
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
          SmallVector<OpOperand *> stored;
          kernel.walk([&](StoreOp store) {
            if (getRole(store) == kStoreGroup)
              stored.push_back(&store.getValueMutable());
          });
          for (OpOperand *operand : stored)
            if (failed(exchangeOperand(kernel, operand, "math", kStoreGroup)))
              return failure();
          rings += stored.size();
          llvm::MapVector<Value, SmallVector<OpOperand *>> operandsOf;
          kernel.walk([&](DotOp dot) {
            for (OpOperand &operand : dot->getOpOperands())
              if (needsMemory(dot, operand))
                operandsOf[operand.get()].push_back(&operand);
          });
          for (auto &entry : operandsOf)
            if (failed(exchangeOperand(kernel, entry.second)))
              return failure();
          rings += operandsOf.size();
          return success();
        });
    if (failed(result))
      signalPassFailure();
  }
};
} // namespace
