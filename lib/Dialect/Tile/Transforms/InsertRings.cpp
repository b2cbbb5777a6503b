//===- InsertRings.cpp - tile-insert-rings --------------------------------===//

#include "Utils.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa3::tile {
#define GEN_PASS_DEF_INSERTRINGS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

namespace {
class RingInserter {
public:
  RingInserter(gpu::GPUFuncOp kernel)
      : kernel(kernel), b(kernel.getLoc(), kernel.getContext()),
        loadRole(b.getStringAttr("load")), mathRole(b.getStringAttr("math")) {}

  LogicalResult insert(LoadOp load);

private:
  /// Marks an operation with a role and gives it back.
  template <typename Op>
  Op with(StringAttr role, Op op) {
    op->setAttr(TileDialect::kRoleAttrName, role);
    return op;
  }

  Value window(Value slot, RankedTensorType type, StringAttr role) {
    SmallVector<Value> zeros(type.getRank(),
                             arith::ConstantIndexOp::create(b, 0));
    return with(role, ViewOp::create(b, ViewType::get(type), slot, zeros))
        .getView();
  }

  gpu::GPUFuncOp kernel;
  ImplicitLocOpBuilder b;
  StringAttr loadRole, mathRole;
};
} // namespace

LogicalResult RingInserter::insert(LoadOp load) {
  RankedTensorType type = load.getResult().getType();
  for (OpOperand &use : load.getResult().getUses())
    if (!isa<DotOp>(use.getOwner()) || use.getOperandNumber() > 1) {
      InFlightDiagnostic diagnostic = load.emitOpError(
          "has the load role, which loads left and right operands of products "
          "only");
      diagnostic.attachNote(use.getOwner()->getLoc()) << "it is used here";
      return diagnostic;
    }
  auto ringType = flow::RingType::get(kernel.getContext(), 1, {type}, 1, 0,
                                      flow::Scope::cta);
  b.setLoc(load.getLoc());
  b.setInsertionPointToStart(&kernel.getBody().front());
  Value ring = flow::RingOp::create(b, ringType);
  auto cursor = [&](flow::Side side, StringAttr role) -> Value {
    return with(role, flow::CursorOp::create(b, side, ring)).getCursor();
  };
  SmallVector<Value> cursors = {cursor(flow::Side::write, loadRole),
                                cursor(flow::Side::read, mathRole)};
  if (failed(threadTo(load, cursors)))
    return failure();

  b.setInsertionPoint(load);
  auto filled = with(loadRole, flow::AcquireOp::create(b, ring, cursors[0]));
  Value target = window(filled.getSlot(), type, loadRole);
  with(loadRole,
       LoadAsyncOp::create(b, load.getSource(), load.getIndices(), target));
  with(loadRole, flow::PublishOp::create(b, filled.getSlot()));

  auto held = with(mathRole, flow::AcquireOp::create(b, ring, cursors[1]));
  Value source = window(held.getSlot(), type, mathRole);
  Operation *lastUse = source.getDefiningOp();
  for (Operation *user : load.getResult().getUsers()) {
    Operation *use = load->getBlock()->findAncestorOpInBlock(*user);
    if (lastUse->isBeforeInBlock(use))
      lastUse = use;
  }
  load.getResult().replaceAllUsesWith(source);
  b.setInsertionPointAfter(lastUse);
  with(mathRole, flow::ReleaseOp::create(b, held.getSlot(), ValueRange()));

  threadFrom(load, {filled.getNext(), held.getNext()});
  load.erase();
  return success();
}

namespace {
struct InsertRings : fa3::tile::impl::InsertRingsBase<InsertRings> {
  using InsertRingsBase::InsertRingsBase;
  void runOnOperation() override {
    LogicalResult result =
        forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
          SmallVector<LoadOp> crossing;
          kernel.walk([&](LoadOp load) {
            auto role =
                load->getAttrOfType<StringAttr>(TileDialect::kRoleAttrName);
            if (role && role == "load")
              crossing.push_back(load);
          });
          RingInserter inserter(kernel);
          for (LoadOp load : crossing)
            if (failed(inserter.insert(load)))
              return failure();
          rings += crossing.size();
          return success();
        });
    if (failed(result))
      signalPassFailure();
  }
};
} // namespace
